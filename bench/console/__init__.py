"""Whether the console stays smooth with much to show, by the browser's own tracing."""
