//! A Vulkan client that compiles compute shaders and asks the driver what it made of them. It draws nothing and needs no GPU: RADV takes the
//! processor from `RADV_FORCE_FAMILY`.
//!
//! All shaders share a layout: set 0 with storage buffers at bindings 0 to 5, storage images at 6 and 7, sampled images at 8 and 9, a
//! uniform buffer at 10; 64 bytes of push constants. What a shader does not use costs nothing.
#![allow(
    unsafe_code,
    reason = "Vulkan's functions are C's; everything unsafe of this crate's client is here"
)]

use crate::mesa::DriverShader;
use ash::{khr, vk};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

/// Bindings of set 0, by type.
const BINDINGS: [(std::ops::Range<u32>, vk::DescriptorType); 4] = [
    (0..6, vk::DescriptorType::STORAGE_BUFFER),
    (6..8, vk::DescriptorType::STORAGE_IMAGE),
    (8..10, vk::DescriptorType::COMBINED_IMAGE_SAMPLER),
    (10..11, vk::DescriptorType::UNIFORM_BUFFER),
];
/// Bytes of push constants.
const PUSH_CONSTANTS: u32 = 64;

fn say(what: &str) -> impl Fn(vk::Result) -> String + '_ {
    move |error| format!("{what}: {error}")
}

/// What the driver makes of the SPIR-V files `shaders`, each by its name.
///
/// # Errors
/// There is no Vulkan loader, or no driver with `VK_KHR_pipeline_executable_properties`. What is wrong with one shader is in its entry.
pub fn compile(shaders: &[PathBuf]) -> Result<Vec<DriverShader>, String> {
    // SAFETY: the library is the system's Vulkan loader; its initialisers have no requirements.
    let entry = unsafe { ash::Entry::load() }.map_err(|error| format!("no Vulkan loader: {error}"))?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
    let wish = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `wish` and what it points to live through the call; the instance is destroyed below, last.
    let instance = unsafe { entry.create_instance(&wish, None) }.map_err(say("no Vulkan instance"))?;
    let result = with_instance(&instance, shaders);
    // SAFETY: nothing that was made of the instance is left.
    unsafe { instance.destroy_instance(None) };
    result
}

fn with_instance(instance: &ash::Instance, shaders: &[PathBuf]) -> Result<Vec<DriverShader>, String> {
    // SAFETY: the instance is alive; so it is for all calls in this function.
    let devices = unsafe { instance.enumerate_physical_devices() }.map_err(say("no device"))?;
    let is_radv = |&device: &vk::PhysicalDevice| {
        // SAFETY: the device is the instance's.
        let properties = unsafe { instance.get_physical_device_properties(device) };
        properties.device_name_as_c_str().is_ok_and(|name| name.to_string_lossy().contains("RADV"))
    };
    let physical = devices.into_iter().find(is_radv).ok_or("no RADV device (mesa-vulkan-drivers)")?;
    // All features that there are: shaders choose.
    let (mut v11, mut v12) =
        (vk::PhysicalDeviceVulkan11Features::default(), vk::PhysicalDeviceVulkan12Features::default());
    let mut executable = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .push_next(&mut v11)
        .push_next(&mut v12)
        .push_next(&mut executable);
    // SAFETY: the chain of structures is alive and each has its type.
    unsafe { instance.get_physical_device_features2(physical, &mut features) };
    let priorities = [1.0];
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&priorities)];
    let extensions = [khr::pipeline_executable_properties::NAME.as_ptr()];
    let wish = vk::DeviceCreateInfo::default()
        .queue_create_infos(&queues)
        .enabled_extension_names(&extensions)
        .push_next(&mut features);
    // SAFETY: `wish` and all that it points to live through the call; the device is destroyed below.
    let device = unsafe { instance.create_device(physical, &wish, None) }.map_err(say("no device"))?;
    let result = with_device(instance, &device, shaders);
    // SAFETY: nothing that was made of the device is left.
    unsafe { device.destroy_device(None) };
    result
}

fn with_device(
    instance: &ash::Instance,
    device: &ash::Device,
    shaders: &[PathBuf],
) -> Result<Vec<DriverShader>, String> {
    let bindings: Vec<_> = BINDINGS
        .into_iter()
        .flat_map(|(range, kind)| range.map(move |binding| (binding, kind)))
        .map(|(binding, kind)| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(kind)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        })
        .collect();
    let set = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the device is alive, `set` and its bindings are; both layouts are destroyed below.
    let set = unsafe { device.create_descriptor_set_layout(&set, None) }.map_err(say("set layout"))?;
    let sets = [set];
    let ranges =
        [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(PUSH_CONSTANTS)];
    let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets).push_constant_ranges(&ranges);
    // SAFETY: as above.
    let layout = unsafe { device.create_pipeline_layout(&layout, None) }.map_err(say("pipeline layout"));
    let result = layout.map(|layout| {
        let extension = khr::pipeline_executable_properties::Device::new(instance, device);
        let out = shaders.iter().map(|path| shader(device, &extension, layout, path)).collect();
        // SAFETY: no pipeline is left that uses it.
        unsafe { device.destroy_pipeline_layout(layout, None) };
        out
    });
    // SAFETY: the layout that used it is gone.
    unsafe { device.destroy_descriptor_set_layout(set, None) };
    result
}

fn shader(
    device: &ash::Device,
    extension: &khr::pipeline_executable_properties::Device,
    layout: vk::PipelineLayout,
    path: &Path,
) -> DriverShader {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut out = DriverShader { name, ..DriverShader::default() };
    if let Err(message) = try_shader(device, extension, layout, path, &mut out) {
        out.error = Some(message);
    }
    out
}

fn try_shader(
    device: &ash::Device,
    extension: &khr::pipeline_executable_properties::Device,
    layout: vk::PipelineLayout,
    path: &Path,
    out: &mut DriverShader,
) -> Result<(), String> {
    let mut file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let words = ash::util::read_spv(&mut file).map_err(|error| error.to_string())?;
    let wish = vk::ShaderModuleCreateInfo::default().code(&words);
    // SAFETY: the words are what glslangValidator wrote and checked; the module is destroyed below.
    let module = unsafe { device.create_shader_module(&wish, None) }.map_err(say("shader module"))?;
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(c"main");
    let wish = vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout).flags(
        vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
            | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR,
    );
    // SAFETY: module and layout are alive and the device's; the pipelines are destroyed below.
    let made = unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[wish], None) };
    let pipelines = made.unwrap_or_else(|(pipelines, _)| pipelines);
    let result = match pipelines.first() {
        Some(&pipeline) if pipeline != vk::Pipeline::null() => describe(device, extension, pipeline, out),
        _ => Err("the driver refuses the shader".to_owned()),
    };
    for pipeline in pipelines {
        // SAFETY: a pipeline of the device, or null, which is allowed; nothing runs it.
        unsafe { device.destroy_pipeline(pipeline, None) };
    }
    // SAFETY: the pipelines keep nothing of it.
    unsafe { device.destroy_shader_module(module, None) };
    result
}

fn text(characters: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().map(|&c| c as u8).collect();
    CStr::from_bytes_until_nul(&bytes).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}

fn describe(
    device: &ash::Device,
    extension: &khr::pipeline_executable_properties::Device,
    pipeline: vk::Pipeline,
    out: &mut DriverShader,
) -> Result<(), String> {
    // A compute pipeline has one executable.
    let which = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
    // SAFETY: the pipeline is alive and was made to capture statistics.
    let statistics =
        unsafe { extension.get_pipeline_executable_statistics(&which) }.map_err(say("statistics"))?;
    for statistic in &statistics {
        // SAFETY: the format says which member of the union was written.
        let value = unsafe {
            match statistic.format {
                vk::PipelineExecutableStatisticFormatKHR::UINT64 => statistic.value.u64 as f64,
                vk::PipelineExecutableStatisticFormatKHR::INT64 => statistic.value.i64 as f64,
                vk::PipelineExecutableStatisticFormatKHR::FLOAT64 => statistic.value.f64,
                _ => f64::from(statistic.value.b32),
            }
        };
        out.statistics.insert(text(&statistic.name), value);
    }
    out.representations = representations(device, extension, &which)?;
    Ok(())
}

/// The texts that the driver has of an executable, by name. The extension asks three times: how many, how long, what.
fn representations(
    device: &ash::Device,
    extension: &khr::pipeline_executable_properties::Device,
    which: &vk::PipelineExecutableInfoKHR<'_>,
) -> Result<BTreeMap<String, String>, String> {
    let function = extension.fp().get_pipeline_executable_internal_representations_khr;
    let mut count = 0;
    // SAFETY: the executable is alive; without an array the count alone is written.
    unsafe { function(device.handle(), which, &mut count, std::ptr::null_mut()) }
        .result()
        .map_err(say("representations"))?;
    let mut list = vec![vk::PipelineExecutableInternalRepresentationKHR::default(); count as usize];
    // SAFETY: the array has `count` elements, whose null pointers ask for sizes.
    unsafe { function(device.handle(), which, &mut count, list.as_mut_ptr()) }
        .result()
        .map_err(say("representations"))?;
    let mut buffers: Vec<Vec<u8>> = list.iter().map(|one| vec![0; one.data_size]).collect();
    for (one, buffer) in list.iter_mut().zip(&mut buffers) {
        one.p_data = buffer.as_mut_ptr().cast();
    }
    // SAFETY: each element points to a buffer of the size that it says, and the buffers outlive the call.
    unsafe { function(device.handle(), which, &mut count, list.as_mut_ptr()) }
        .result()
        .map_err(say("representations"))?;
    let texts = list.iter().zip(&buffers).filter(|(one, _)| one.is_text != 0).map(|(one, buffer)| {
        let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(buffer.len());
        (text(&one.name), String::from_utf8_lossy(&buffer[..end]).into_owned())
    });
    Ok(texts.collect())
}
