def causal_lower_right(queries, keys):
    return ("lower right", queries, keys)
