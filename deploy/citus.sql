-- Distributes the tables of tacit-server on Citus by tenant. Not run by the tests of this project; docs/guide/scaling.md says what was run.
--
-- On the coordinator, after `tacit-server set-up` and `tacit-server migrate`, before the first `serve`:
--   psql -v ON_ERROR_STOP=1 -f deploy/citus.sql "$TACIT_SUPERUSER_URL"
--
-- The extensions citus and vector must be on every node, and the roles tacit_owner and tacit_app too: Citus 11 or newer copies the roles.
-- Every process of tacit-server connects to the coordinator, which also passes the notifications on.

-- Each SET LOCAL of a transaction must reach the nodes on which its statements run, because the policies read the tenant from it.
ALTER ROLE tacit_app SET citus.propagate_set_commands = 'local';

-- Small, and read by every transaction: a copy on every node.
SELECT create_reference_table('alembic_version');
SELECT create_reference_table('tenants');

-- All rows of a tenant lie on one node, so each statement runs on one node.
SELECT create_distributed_table('memories', 'tenant');
SELECT create_distributed_table('versions', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('purges', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('accounts', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('invites', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('devices', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('logs', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('entries', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('members', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('memberships', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('team_projects', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('share_requests', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('audit', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('limits', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('sso_logins', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('sso_identities', 'tenant', colocate_with => 'memories');
SELECT create_distributed_table('sso_links', 'tenant', colocate_with => 'memories');
