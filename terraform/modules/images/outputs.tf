output "images" {
  description = "Each machine's image by its name: `class` (equal for equal images), `schematic_id`, and the addresses of `disk_image`, `kernel`, `initramfs` and `installer`."
  value = { for name, class in local.classes : name => {
    class        = class
    schematic_id = local.schematic_ids[name]
    disk_image   = data.talos_image_factory_urls.class[class].urls.disk_image
    kernel       = data.talos_image_factory_urls.class[class].urls.kernel
    initramfs    = data.talos_image_factory_urls.class[class].urls.initramfs
    installer    = data.talos_image_factory_urls.class[class].urls.installer
  } }
}

output "kernel_args" {
  description = "Arguments of the kernel by machine that its image adds to Talos' own; those of a given `schematic_id` are not known."
  value       = { for name, args in local.kernel_args : name => args if var.nodes[name].schematic_id == null }
}

output "schematics" {
  description = "What the image factory was asked for, by class, as YAML: what an own factory has to know as well."
  value       = { for class, schematic in talos_image_factory_schematic.class : class => schematic.schematic }
}
