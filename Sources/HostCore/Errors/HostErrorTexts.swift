/// The texts of the host's own error codes: code, meaning, fix.
enum HostErrorTexts {
    static let all: [(code: String, meaning: String, fix: String)] =
        call + permission + plugin + project + script + replay + files

    private static let call: [(code: String, meaning: String, fix: String)] = [
        (
            "host.operation_unknown", "No family here has an operation of this name.",
            "apsule discover lists what there is; the message names the nearest."
        ),
        (
            "host.invalid_argument",
            "An argument does not fit the operation's schema. details: path, expected, got.",
            "apsule help FAMILY.OPERATION shows the arguments."
        ),
        (
            "host.timeout", "The operation did not answer in time.",
            "Pass a longer timeoutMs, as far as the operation's maximum allows."
        ),
        (
            "host.cancelled", "The call was cancelled: by cancel(), an AbortSignal, Ctrl-C, or the end of the project.",
            "Nothing is wrong; catch it where a call may be cancelled."
        ),
        (
            "host.busy", "Too much runs at once: 1,024 calls, 256 streams, or the service itself is busy.",
            "Wait for calls to end, and cancel streams that are not needed."
        ),
        (
            "host.payload_too_large", "More than 8 MiB of JSON or 256 MiB of binary data in one message.",
            "Pass a path of a project file, or several smaller messages."
        ),
        ("host.payload_too_deep", "JSON nests deeper than 64 levels.", "Flatten the value."),
        (
            "host.stream_overflow",
            "A stream without loss had more than 1,000 events or 8 MiB waiting, and was ended.",
            "Take events faster, or filter them in the call."
        ),
        (
            "host.failed", "An operation failed in a way that it does not explain.",
            "apsule call with APSULE_DEBUG=1 prints what the plugin logs."
        ),
        (
            "host.system_error", "The system refused something that the host needs, such as another process.",
            "The message names it; apsule doctor checks what the host needs."
        ),
        (
            "host.wire_malformed", "Another process of the host sent something that is no message.",
            "Build or install apsule again, so that all its parts are of one version."
        ),
        ("usage.invalid", "The command line is not as the command expects.", "apsule help COMMAND"),
    ]

    private static let permission: [(code: String, meaning: String, fix: String)] = [
        (
            "permission.denied",
            "The project does not declare the permission, a person or policy denied it, the call is out of its scope, "
                + "or there was nobody to ask. details: permission, rule, fix.",
            "apsule permissions explain FAMILY.OPERATION --project DIR shows what decides."
        ),
        (
            "permission.revoked", "The permission was taken away while the call or stream was running.",
            "apsule permissions list shows what is granted; call again to be asked again."
        ),
        (
            "policy.invalid", "The owner's policy.json cannot be read; it decides nothing until it can.",
            "Correct the file that the message names."
        ),
        (
            "policy.unknown_permission", "policy.json names a permission that does not exist.",
            "Correct the name; apsule docs --output DIR lists every permission."
        ),
        (
            "policy.unknown_family", "policy.json holds settings of a family that does not exist.",
            "Correct the name; apsule discover lists every family."
        ),
        (
            "policy.not_owner_only", "policy.json is ignored, because others may change it.",
            "chmod go-w policy.json, and let it belong to the user who runs apsule."
        ),
    ]

    private static let plugin: [(code: String, meaning: String, fix: String)] = [
        (
            "plugin.quarantined", "A plugin of others that no person has trusted yet, or that has changed since.",
            "apsule plugin trust NAME, when you trust whoever made it."
        ),
        (
            "plugin.crashed",
            "The plugin's process ended in the middle of work. It is started again with the next call.",
            "Call again; report it to the plugin's maker when it repeats."
        ),
        ("plugin.failed", "The plugin did something that the host does not allow.", "Report it to the plugin's maker."),
        ("plugin.protocol_error", "The plugin broke a rule of the plugin ABI.", "Report it to the plugin's maker."),
        (
            "plugin.invalid_answer", "The plugin answered with something that is no JSON.",
            "Report it to the plugin's maker."
        ),
        (
            "plugin.not_loadable", "The system's loader refused the library.",
            "The message says what is missing; install it, or build the plugin again."
        ),
        (
            "plugin.entry_missing", "The library has no entry for its family.",
            "Export apsule_plugin_<family> from the plugin."
        ),
        (
            "plugin.abi_mismatch", "The plugin was built for another version of the plugin ABI.",
            "Build the plugin against this host's apsule_plugin.h."
        ),
        (
            "plugin.operations_mismatch", "Plugin and descriptor do not name the same operations.",
            "Correct the plugin's operation table or its descriptor."
        ),
        (
            "plugin.descriptor_missing", "The library carries no descriptor in its section apsule_family.",
            "Embed the family's manifest in the plugin."
        ),
        (
            "plugin.descriptor_too_large", "The embedded descriptor is larger than a descriptor may be.",
            "Shorten the manifest."
        ),
        ("plugin.name_taken", "A bundled family has this name already.", "Rename the family."),
        ("plugin.not_elf", "The file is no shared library.", "Remove it from the plugin folder, or build it again."),
        ("plugin.not_library", "The file is a program or object, no shared library.", "Link the plugin with -shared."),
        ("plugin.not_readable", "The file cannot be opened.", "Give the user who runs apsule the right to read it."),
        ("plugin.damaged", "The file contradicts itself and is not loaded.", "Copy or build the plugin again."),
        (
            "plugin.truncated", "The file is shorter than it says: it was not copied completely.",
            "Copy the plugin again."
        ),
        (
            "plugin.wrong_machine", "The library was built for another kind of processor.",
            "Build the plugin for this machine."
        ),
        (
            "plugin.runpath",
            "The library names folders of its own to load others from, which would escape the checks.",
            "Link the plugin without RPATH and RUNPATH."
        ),
        (
            "plugin.executable_stack", "The library asks for an executable stack.",
            "Build the plugin without it (-z noexecstack)."
        ),
        (
            "plugin.foreign_owner", "The file, or a folder above it, belongs to another user.",
            "The details name the path; chown it to yourself or root."
        ),
        (
            "plugin.world_writable", "Everybody may change the file or a folder above it.",
            "The details name the path; chmod o-w it."
        ),
        (
            "descriptor.invalid", "A family's descriptor breaks a rule of the format. details: file, key, value, rule.",
            "Correct the key that the details name."
        ),
    ]

    private static let project: [(code: String, meaning: String, fix: String)] = [
        ("manifest.not_found", "There is no project there: no folder, or none with an app.json.", "apsule init DIR"),
        ("manifest.syntax", "app.json is no JSON. The message names file, line and column.", "Correct that line."),
        (
            "manifest.invalid", "A key of app.json has a value that it cannot have. details: line, key, rule.",
            "apsule types writes app.schema.json, with which an editor shows such faults."
        ),
        (
            "manifest.unknown_permission", "app.json declares a permission that does not exist.",
            "The message names the nearest; apsule discover shows what each operation needs."
        ),
        (
            "manifest.entry_missing", "The script that app.json names as its entry does not exist.",
            "Correct entry, or write the file."
        ),
        (
            "manifest.incompatible_host", "app.json requires a host or operations that this one is not, or has not.",
            "The details name what is missing; apsule discover shows what there is."
        ),
        (
            "project.exists", "A file of the new project is there already; nothing was written.",
            "apsule init in an empty folder, or remove the file that the message names."
        ),
    ]

    private static let script: [(code: String, meaning: String, fix: String)] = [
        (
            "script.unresponsive", "The script kept its turn for longer than limits.turnMs, and was ended.",
            "Give the turn back in long loops (await), or raise limits.turnMs in app.json."
        ),
        (
            "script.out_of_memory", "The script used more memory than limits.memoryMB, and was ended.",
            "Keep less at once, or raise limits.memoryMB in app.json."
        ),
        (
            "script.failed", "The script threw, or a Promise was rejected with nobody there to catch it.",
            "The message names file and line."
        ),
        (
            "script.bundler_missing", "TypeScript and import need esbuild, which is not installed.",
            "apt-get install esbuild"
        ),
        (
            "script.bundle_failed", "TypeScript, or a module that is imported, could not be bundled.",
            "The message names file and line."
        ),
        (
            "script.crashed", "The process that ran the script ended in the middle of it.",
            "Run it again; where it repeats, report it with what the script does."
        ),
        (
            "script.module_not_found", "What was required or imported is not there, or not in the project.",
            "The message names file and place; packages are for import, which is bundled."
        ),
        ("script.stopped", "The project ended before its script answered.", "Run the project again."),
        (
            "script.stalled", "The script waits for something that cannot happen any more.",
            "The message names it; a Promise was probably never settled."
        ),
        ("script.action_unknown", "The script has no action of this name.", "Add it to the script's actions object."),
        (
            "script.invalid_source_map", "A source map cannot be used; places are those of the generated file.",
            "Build the source map again, as version 3."
        ),
    ]

    private static let replay: [(code: String, meaning: String, fix: String)] = [
        (
            "replay.no_match",
            "The recording has no call with this operation and these arguments any more. details: nearest, differs.",
            "Record again, or call as it was recorded."
        ),
        (
            "replay.invalid", "The file is no recording that this host reads. details: path, line, reason.",
            "Record again with apsule run --record FILE; a line that was changed by hand must stay one JSON object."
        ),
        (
            "replay.ended", "The recording ends before this call did: the run was killed, or its disk was full.",
            "Record again, and let the run come to its end."
        ),
        (
            "replay.redacted", "The answer is secret, so it was not recorded and cannot be replayed.",
            "Leave the call out of a project that is to be replayed, or run it live."
        ),
        (
            "replay.recording_stopped", "Nothing more is recorded: the disk is full, or the file at its greatest size.",
            "Make room and record again; what is in the file can be replayed."
        ),
    ]

    private static let files: [(code: String, meaning: String, fix: String)] = [
        (
            "host.state_unusable", "The folder that holds grants, audit and data cannot be used safely.",
            "Give it to the user who runs apsule, mode 0700, or name another with --state DIR."
        ),
        ("host.file_exists", "A file that would be written is there already; it was left alone.", "Move it away."),
        (
            "output.failed", "What a command printed could not be written: the disk is full, say.",
            "Make space, or send the output elsewhere."
        ),
        ("host.file_error", "A file that the host needs cannot be read or written.", "The message names it and why."),
        (
            "host.installation_damaged", "A file of apsule itself is missing or broken.",
            "Build or install apsule again."
        ),
        (
            "grants.corrupt", "The database of granted permissions is damaged.",
            "Move grants.db in the state folder away: projects then ask again."
        ),
        ("grants.busy", "Another process holds the database of granted permissions.", "Try again."),
        (
            "grants.full", "There is no space left to save a decision; nothing was changed.",
            "Make space in the state folder."
        ),
    ]

    /// Reasons that the Kit gives the same meaning in every family.
    static let common: [String: ErrorText] = [
        "unavailable": ErrorText(
            "The family cannot work on this machine now. details: reason, fix.",
            fix: "The error itself says what helps."),
        "unsupported": ErrorText(
            "Linux, or this machine, has no such capability. details: reason.",
            fix: "Ask host.runtime.supports first, and do without."),
        "outside_sandbox": ErrorText(
            "The path leads out of the project's files.",
            fix: "Use a relative path without .. and without links that lead out."),
        "not_found": ErrorText("What was named does not exist.", fix: "Check the name."),
        "not_permitted": ErrorText(
            "The file may not be opened by this call.",
            fix: "Check the file's mode and the declared storage permission."),
        "not_a_file": ErrorText("The path names no regular file.", fix: "Name a file."),
        "is_a_directory": ErrorText("The path names a folder.", fix: "Name a file."),
        "name_too_long": ErrorText(
            "A name has more than 255 bytes, or the path more than 4095.", fix: "Use a shorter name."),
        "already_exists": ErrorText("The file is there already.", fix: "Choose another name."),
        "file_error": ErrorText("The system could not read or write a file. The message says why.", fix: nil),
        "full": ErrorText("There is no space left; nothing was changed.", fix: "Make space on the disk."),
        "busy": ErrorText("Another process holds the database.", fix: "Try again."),
        "corrupt": ErrorText("The database is damaged.", fix: "Restore it, or move it away to begin anew."),
        "read_only": ErrorText("The database cannot be changed.", fix: "Check the mode of its file."),
        "cannot_open": ErrorText("The database cannot be opened.", fix: "Check the mode of its folder."),
        "value_too_large": ErrorText("The value is larger than the database takes.", fix: "Keep it in a file."),
        "io_error": ErrorText("The system failed to read or write the database.", fix: "Check the disk."),
    ]
}
