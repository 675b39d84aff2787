output "manifest" {
  description = "The Testbed as a YAML document, for kubectl or Git."
  value       = yamlencode(local.testbed)
}
