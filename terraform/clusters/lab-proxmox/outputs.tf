output "nodes" {
  description = "The machines by name: role, address, labels."
  # Their patches may hold a registry's credentials, and an output would show them.
  value = { for name, node in module.nodes.nodes : name => { role = node.role, address = node.address, labels = node.labels } }
}

output "images" {
  description = "Each machine's image by its name; `installer` is what `talosctl upgrade` takes to change a machine's kernel arguments, extensions or version."
  value       = module.images.images
}

output "testbeds" {
  description = "The Testbeds as a manifest: `terraform output -raw testbeds | kubectl apply -f -`."
  value       = join("---\n", [for name in sort(keys(var.testbeds)) : module.testbed[name].manifest])
}

output "kubeconfig" {
  description = "The administrator's kubeconfig: `terraform output -raw kubeconfig`."
  value       = module.cluster.kubeconfig
  sensitive   = true
}

output "talosconfig" {
  description = "Configuration of talosctl: `terraform output -raw talosconfig`."
  value       = module.cluster.talosconfig
  sensitive   = true
}

output "addons" {
  description = "Helm releases in the cluster by name, with their namespaces. Absent: `addons` is not set."
  value       = one([for addons in module.addons : addons.releases])
}
