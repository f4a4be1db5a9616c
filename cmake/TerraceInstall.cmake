# What an installed copy consists of, by component.
