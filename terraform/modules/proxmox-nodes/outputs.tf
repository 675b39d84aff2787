output "nodes" {
  description = "The machines by name, in the form that the module `cluster` takes; the same for every kind of machine."
  value = { for name, node in var.nodes : name => {
    role         = node.role
    address      = split("/", node.address)[0]
    install_disk = "/dev/sda"
    labels       = node.labels
    measurement  = node.measurement
  } }
  # Nothing may connect to a machine before it exists.
  depends_on = [proxmox_virtual_environment_vm.node]
}

output "installer_image" {
  description = "The image by which Talos installs and upgrades itself."
  value       = data.talos_image_factory_urls.this.urls.installer
}

output "vm_ids" {
  description = "The virtual machines' numbers in Proxmox by name."
  value       = { for name, vm in proxmox_virtual_environment_vm.node : name => vm.id }
}
