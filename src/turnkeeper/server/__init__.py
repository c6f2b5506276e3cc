"""HTTP and SSE: routes in, errors out, no rules of its own."""
