"""LangGraph graphs as agents; needs the extra `langgraph`."""
