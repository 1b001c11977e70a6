"""What people do with the Python client."""

import unittest

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.py.io"},
    "spec": {
        "group": "py.io",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "kind": "Gadget"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
}


class BuiltIn(unittest.TestCase):
    def setUp(self):
        self.core = client.CoreV1Api()

    def test_config_maps(self):
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="py"), data={"a": "1"})
        made = self.core.create_namespaced_config_map("default", body)
        self.assertEqual(made.data, {"a": "1"})
        with self.assertRaises(ApiException) as refused:
            self.core.create_namespaced_config_map("default", body)
        self.assertEqual((refused.exception.status, refused.exception.reason), (409, "Conflict"))
        made.data["b"] = "2"
        self.assertEqual(self.core.replace_namespaced_config_map("py", "default", made).data, {"a": "1", "b": "2"})
        with self.assertRaises(ApiException) as refused:
            self.core.replace_namespaced_config_map("py", "default", made)
        self.assertEqual(refused.exception.status, 409)
        self.core.delete_namespaced_config_map("py", "default")
        with self.assertRaises(ApiException) as refused:
            self.core.read_namespaced_config_map("py", "default")
        self.assertEqual(refused.exception.status, 404)

    def test_watch(self):
        start = self.core.list_namespaced_secret("default").metadata.resource_version
        self.assertGreater(int(start), 0)
        for name in ("w1", "w2"):
            meta = client.V1ObjectMeta(name=name)
            self.core.create_namespaced_secret("default", client.V1Secret(metadata=meta, string_data={"k": "v"}))
        seen = []
        stream = watch.Watch()
        for event in stream.stream(self.core.list_namespaced_secret, "default", resource_version=start, timeout_seconds=20):
            seen.append((event["type"], event["object"].metadata.name, event["object"].data))
            if len(seen) == 2:
                stream.stop()
        self.assertEqual(seen, [("ADDED", "w1", {"k": "dg=="}), ("ADDED", "w2", {"k": "dg=="})])

    def test_pages(self):
        for number in range(5):
            meta = client.V1ObjectMeta(name=f"page-{number}", labels={"app": "pages"})
            self.core.create_namespaced_service_account("default", client.V1ServiceAccount(metadata=meta))
        names, token = [], None
        while token != "":
            page = self.core.list_namespaced_service_account(
                "default", label_selector="app=pages", limit=2, _continue=token)
            names += [item.metadata.name for item in page.items]
            token = page.metadata._continue or ""
        self.assertEqual(names, [f"page-{number}" for number in range(5)])

    def test_typed_patches_are_strategic(self):
        meta = client.V1ObjectMeta(name="patched")
        body = client.V1ServiceAccount(metadata=meta, secrets=[client.V1ObjectReference(name="one")])
        self.core.create_namespaced_service_account("default", body)
        patch = {"metadata": {"labels": {"a": "b"}}, "secrets": [{"name": "two"}]}
        patched = self.core.patch_namespaced_service_account("patched", "default", patch)
        self.assertEqual([secret.name for secret in patched.secrets], ["two", "one"])
        typed = client.V1ServiceAccount(secrets=[client.V1ObjectReference(name="three")])
        patched = self.core.patch_namespaced_service_account("patched", "default", typed)
        self.assertEqual([secret.name for secret in patched.secrets], ["three", "two", "one"])
        with self.assertRaises(ApiException) as refused:
            self.core.patch_namespaced_service_account("patched", "default", {"secrets": [{"kind": "Secret"}]})
        self.assertEqual(refused.exception.status, 400)
        self.assertIn("does not contain declared merge key: name", refused.exception.body)

    def test_apply(self):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
        apply = lambda manager, data, **options: self.core.patch_namespaced_config_map(
            "applied", "default", {**body, "data": data}, field_manager=manager,
            _content_type="application/apply-patch+yaml", **options)
        self.assertEqual(apply("one", {"a": "1"}).data, {"a": "1"})
        with self.assertRaises(ApiException) as refused:
            apply("two", {"a": "2"})
        self.assertEqual(refused.exception.status, 409)
        self.assertIn('conflict with \\"one\\": .data.a', refused.exception.body)
        forced = apply("two", {"a": "2"}, force=True)
        owners = [(entry.manager, entry.operation) for entry in forced.metadata.managed_fields]
        self.assertEqual((forced.data, owners), ({"a": "2"}, [("two", "Apply")]))

    def test_version(self):
        self.assertEqual(client.VersionApi().get_code().major, "1")


class Custom(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        client.ApiextensionsV1Api().create_custom_resource_definition(CRD)

    def test_objects(self):
        api = client.CustomObjectsApi()
        where = ("py.io", "v1", "default", "gadgets")
        made = api.create_namespaced_custom_object(
            *where, {"apiVersion": "py.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {}})
        self.assertEqual(made["spec"], {"size": 1})
        patched = api.patch_namespaced_custom_object(*where, "g", {"spec": {"size": 3}})
        self.assertEqual((patched["spec"], patched["metadata"]["generation"]), ({"size": 3}, 2))
        told = api.patch_namespaced_custom_object_status(*where, "g", {"status": {"ready": True}})
        self.assertEqual(told["status"], {"ready": True})
        listed = api.list_namespaced_custom_object(*where)
        self.assertEqual([item["metadata"]["name"] for item in listed["items"]], ["g"])
        api.delete_namespaced_custom_object(*where, "g")
        self.assertEqual(api.list_namespaced_custom_object(*where)["items"], [])

    def test_dynamic_client(self):
        gadgets = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="py.io/v1", kind="Gadget")
        body = {"apiVersion": "py.io/v1", "kind": "Gadget", "metadata": {"name": "d"}, "spec": {"size": 2}}
        self.assertEqual(gadgets.create(body=body, namespace="kube-public").spec.size, 2)
        self.assertEqual(gadgets.get(name="d", namespace="kube-public").metadata.name, "d")
        for event in gadgets.watch(namespace="kube-public", timeout=20):
            self.assertEqual((event["type"], event["object"].metadata.name), ("ADDED", "d"))
            break


if __name__ == "__main__":
    config.load_kube_config()
    unittest.main()
