"""An operator as people write them with kopf: widgets are grown, and taken apart before they go."""

import kopf


@kopf.on.create("ex.io", "v1", "widgets")
def grow(body, spec, patch, **_):
    patch.status["phase"] = f"grown to {spec['size']}"
    kopf.event(body, type="Normal", reason="Grown", message="It has grown.")


@kopf.on.update("ex.io", "v1", "widgets", field="spec.size")
def resize(old, new, patch, **_):
    patch.status["phase"] = f"resized from {old} to {new}"


@kopf.on.delete("ex.io", "v1", "widgets")
def take_apart(body, retry, **_):
    # The first attempt fails, as attempts do.
    if retry == 0:
        raise kopf.TemporaryError("not yet", delay=0.1)
    kopf.event(body, type="Normal", reason="TakenApart", message="It was taken apart.")
