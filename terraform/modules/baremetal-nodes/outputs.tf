output "nodes" {
  description = "The machines by name, in the form that the module `cluster` takes; the same for every kind of machine."
  value = { for name, node in var.nodes : name => {
    role             = node.role
    address          = split("/", node.address)[0]
    install_disk     = node.install_disk
    installer_image  = var.images[name].installer
    labels           = node.labels
    measurement      = node.measurement
    config_patches   = node.config_patches
    reset_on_removal = true # its disk stays, and has secrets on it
  } }
  # Nothing may wait for a machine that cannot boot yet.
  depends_on = [matchbox_group.node]
}

output "boot_args" {
  description = "Talos' own arguments of the network boot, which every machine has."
  value       = local.boot_args
}

output "boot_ids" {
  description = "The ids of Matchbox' profiles by node."
  value       = { for name, profile in matchbox_profile.node : name => profile.id }
}
