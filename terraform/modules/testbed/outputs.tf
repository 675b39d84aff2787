output "manifest" {
  description = "The namespace and the Testbed as YAML documents, for kubectl or Git."
  value       = join("---\n", [yamlencode(local.namespace), yamlencode(local.testbed)])
}
