output "namespaces" {
  description = "Namespaces that the module makes, with the Pod Security level that each enforces."
  value       = { for name, namespace in kubernetes_namespace_v1.this : name => namespace.metadata[0].labels["pod-security.kubernetes.io/enforce"] }
}

output "releases" {
  description = "Helm releases by name, with their namespaces: what `helm list -A` shows."
  value       = { for release in local.releases : release.name => release.namespace }
}

output "manifests" {
  description = "What the module's own chart carries, by release, as YAML: to look at, and for tests."
  value = merge(
    var.multus == null ? {} : { multus = local.multus_manifest },
    var.cni_plugins == null ? {} : { vnfbench-cni-plugins = yamlencode(local.cni_plugins) },
    var.kubevirt == null ? {} : { kubevirt = yamlencode(local.kubevirt) },
    { for name, policy in local.sriov_policies : "sriov-policy-${name}" => yamlencode(policy) },
  )
}

output "versions" {
  description = "Versions that go together."
  value       = local.versions
}
