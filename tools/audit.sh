#!/bin/sh
# Known vulnerabilities, licences and sources of the dependencies: audit.sh PYTHON.
# A program or a database that cannot be had is a line, not a failure; a finding is a failure.
set -u
python=$1
folder=target/audit
status=0
mkdir -p "$folder"

for tool in deny audit; do
  if ! command -v "cargo-$tool" >/dev/null; then
    echo "audit: cargo-$tool skipped: not installed (cargo install --locked cargo-$tool)"
    continue
  fi
  if [ "$tool" = deny ]; then set -- check bans licenses sources; else set -- --deny warnings; fi
  for lock in . crates/kernel-cc; do
    (cd "$lock" && ${CARGO:-cargo} "$tool" "$@") >"$folder/$tool" 2>&1 && { echo "audit: cargo-$tool finds nothing in $lock"; continue; }
    if grep -qiE "failed to fetch|couldn't fetch|network|could not connect|resolve host" "$folder/$tool"; then
      echo "audit: cargo-$tool skipped: its advisory database is out of reach"
    else
      cat "$folder/$tool"
      status=1
    fi
  done
done

"$python" -m venv --without-pip "$folder/venv" >/dev/null 2>&1
if ! "$python" -m pip --quiet --disable-pip-version-check --python "$folder/venv/bin/python" install pip-audit >"$folder/pip" 2>&1; then
  echo "audit: pip-audit skipped: it cannot be installed"
elif "$folder/venv/bin/python" -m pip_audit --strict --disable-pip --requirement requirements.lock --progress-spinner off >"$folder/pip" 2>&1; then
  echo "audit: pip-audit finds nothing in requirements.lock"
elif grep -qE "could not be audited|not found on PyPI|ConnectionError|Max retries|ServiceError|HTTPError|NameResolution" "$folder/pip"; then
  # An index without the service's data answers "not found" for every package; --strict makes that no success.
  echo "audit: pip-audit skipped: the vulnerability data of PyPI are out of reach"
else
  cat "$folder/pip"
  status=1
fi
exit $status
