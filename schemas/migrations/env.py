"""Alembic environment: migrations run on the connection that `Catalog.migrate` gives."""

from alembic import context

from schemas.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite changes a table by copying it
    transactional_ddl=True,
)
context.run_migrations()
