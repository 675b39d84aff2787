output "nodes" {
  description = "The machines by name, in the form that the module `cluster` takes; the same for every kind of machine."
  value = { for name, node in var.nodes : name => {
    role             = node.role
    address          = split("/", node.address)[0]
    install_disk     = "/dev/sda"
    installer_image  = var.images[name].installer
    labels           = node.labels
    measurement      = node.measurement
    config_patches   = node.config_patches
    reset_on_removal = false # its disk goes with it
  } }
  # Nothing may connect to a machine before it exists.
  depends_on = [proxmox_virtual_environment_vm.node]
}

output "vm_ids" {
  description = "The virtual machines' numbers in Proxmox by name."
  value       = { for name, vm in proxmox_virtual_environment_vm.node : name => vm.id }
}
