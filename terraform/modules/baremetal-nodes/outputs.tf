output "nodes" {
  description = "The machines by name, in the form that the module `cluster` takes; the same for every kind of machine."
  value = { for name, node in var.nodes : name => {
    role         = node.role
    address      = split("/", node.address)[0]
    install_disk = node.install_disk
    labels       = node.labels
    measurement  = node.measurement
  } }
  # Nothing may wait for a machine that cannot boot yet.
  depends_on = [matchbox_group.node]
}

output "installer_image" {
  description = "The image by which Talos installs and upgrades itself."
  value       = data.talos_image_factory_urls.this.urls.installer
}

output "boot_ids" {
  description = "The ids of Matchbox' profiles by node."
  value       = { for name, profile in matchbox_profile.node : name => profile.id }
}
