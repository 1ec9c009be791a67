"""What pages say of themselves, once: routes, reading of parameters and the OpenAPI document."""
