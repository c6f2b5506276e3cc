"""What a model wrote around the JSON that it was asked for."""


def without_fence(reply: str) -> str:
    """From the first brace to the last: some models put a fence, or a sentence, around an object. Empty without one."""
    return reply[reply.find("{") : reply.rfind("}") + 1]
