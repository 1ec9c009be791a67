"""The rules that make principals of certificates' names."""

import pytest

from kafkapy.broker.security.principal_mapping import (
    BadRule,
    NoRule,
    PrincipalMapping,
)

DN = "CN=kafka1,OU=SME,O=mycp,L=Fulton,ST=MD,C=US"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", DN),
        ("", DN),
        ("RULE:^CN=(.*?),OU=SME.*$/$1/", "kafka1"),
        ("RULE:^CN=(.*?),OU=SME.*$/$1/U", "KAFKA1"),
        ("RULE:^cn=(.*?),ou=.*$/$1/, RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L", "kafka1"),
        ("RULE:^CN=(.*?), OU=(.*?).*$/$1@$2/L, RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/", "kafka1@SME"),
        ("RULE:^CN=x$/a/,DEFAULT", DN),
        (r"RULE:^CN=(.*?),.*$/\$$1\/x/", "$kafka1/x"),
    ],
)  # fmt: skip
def test_the_first_rule_that_fits_the_whole_name_counts(rules: str, name: str) -> None:
    assert PrincipalMapping(rules).name_of(DN) == name


def test_where_no_rule_fits_nobody_gets_in() -> None:
    with pytest.raises(NoRule):
        PrincipalMapping("RULE:^CN=x$/a/").name_of(DN)


@pytest.mark.parametrize(
    "rules", ["default", "RULE:", "RULE:(/a/", "RULE:a/$1/", "RULE:a/b", "DEFAULT/L", "RULE:a/b/X"]
)
def test_rules_that_cannot_be_read_are_refused(rules: str) -> None:
    with pytest.raises(BadRule):
        PrincipalMapping(rules)
