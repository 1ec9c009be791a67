"""Every page of the registry: THE table of what may be asked, and how.

A pattern's `*` is a part of the path that the page gets. Pages are translation: what they ask and
change is in registry.py, who may is in access.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kafkapy.http.registry.pages import schemas, server, settings, subjects
from kafkapy.http.registry.registry import Registry
from kafkapy.http.registry.requests import Asked

Page = Callable[[Registry, Asked], Awaitable[Any]]

PAGES: tuple[tuple[str, str, Page], ...] = (
    ("GET", "schemas", schemas.get_schemas),
    ("GET", "schemas/types", schemas.get_types),
    ("GET", "schemas/ids/*", schemas.get_schema),
    ("GET", "schemas/ids/*/schema", schemas.get_schema_text),
    ("GET", "schemas/ids/*/subjects", schemas.get_subjects_of_id),
    ("GET", "schemas/ids/*/versions", schemas.get_versions_of_id),
    ("GET", "schemas/guids/*", schemas.get_schema_by_guid),
    ("GET", "schemas/guids/*/ids", schemas.get_ids_of_guid),
    ("GET", "subjects", subjects.get_subjects),
    ("POST", "subjects/*", subjects.look_up),
    ("DELETE", "subjects/*", subjects.delete_subject),
    ("GET", "subjects/*/metadata", subjects.get_with_metadata),
    ("GET", "subjects/*/versions", subjects.get_versions),
    ("POST", "subjects/*/versions", subjects.register),
    ("GET", "subjects/*/versions/*", subjects.get_version),
    ("DELETE", "subjects/*/versions/*", subjects.delete_version),
    ("GET", "subjects/*/versions/*/schema", subjects.get_version_text),
    ("GET", "subjects/*/versions/*/referencedby", subjects.get_referrers),
    ("POST", "compatibility/subjects/*/versions", subjects.compare),
    ("POST", "compatibility/subjects/*/versions/*", subjects.compare),
    ("GET", "mode", settings.get_mode),
    ("PUT", "mode", settings.set_mode),
    ("DELETE", "mode", settings.forget_mode),
    ("GET", "mode/*", settings.get_mode),
    ("PUT", "mode/*", settings.set_mode),
    ("DELETE", "mode/*", settings.forget_mode),
    ("GET", "config", settings.get_config),
    ("PUT", "config", settings.set_config),
    ("DELETE", "config", settings.forget_config),
    ("GET", "config/*", settings.get_config),
    ("PUT", "config/*", settings.set_config),
    ("DELETE", "config/*", settings.forget_config),
    ("GET", "contexts", server.get_contexts),
    ("DELETE", "contexts/*", server.delete_context),
    ("GET", "associations/subjects/*", server.get_no_associations),
    ("GET", "associations/resources/*", server.get_no_associations),
    ("GET", "associations/resources/*/*", server.get_no_associations),
    ("GET", "v1/metadata/id", server.get_cluster_id),
    ("GET", "v1/metadata/version", server.get_server_version),
)
