output "kubeconfig" {
  description = "The administrator's kubeconfig."
  value       = talos_cluster_kubeconfig.this.kubeconfig_raw
  sensitive   = true
  # A module that uses it finds a cluster that works.
  depends_on = [data.talos_cluster_health.this]
}

output "kubernetes" {
  description = "How the providers helm and kubernetes reach the cluster: host, client_certificate, client_key, ca_certificate (base64)."
  value       = talos_cluster_kubeconfig.this.kubernetes_client_configuration
  sensitive   = true
  depends_on  = [data.talos_cluster_health.this]
}

output "talosconfig" {
  description = "Configuration of talosctl."
  value       = data.talos_client_configuration.this.talos_config
  sensitive   = true
}

output "patches" {
  description = "What is changed in each machine's configuration, by name, as YAML documents, without `config_patches`. There are no secrets in it."
  value       = local.patches
}
