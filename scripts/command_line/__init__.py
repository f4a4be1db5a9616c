"""What is written from the command line's own description: its page, man pages, completion for three shells."""
