"""Who answers: runtimes behind the Agent port."""
