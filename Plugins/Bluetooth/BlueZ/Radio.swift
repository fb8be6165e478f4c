import ApsuleKit

/// Whether Bluetooth can work on this machine now, and over which adapter.
struct Radio: Sendable {
    let bluez: Bluez
    var rfkill = Rfkill()
    /// The kernel's name of the adapter that the owner wants used.
    var preferred: String?

    /// The adapter, once the daemon answers and the adapter is usable.
    ///
    /// - Throws: `bluetooth.daemon_missing`, `access_denied`, `adapter_missing`, `adapter_blocked`, `adapter_off`.
    func adapter() async throws(HostError) -> Adapter {
        _ = try await bluez.connection()
        if let problem = problem() { throw problem }
        guard let adapter = bluez.read({ $0.adapter(preferred: preferred) }) else { throw BluezErrors.adapterMissing }
        return adapter
    }

    /// Why the radio cannot be used, as far as is known now.
    func problem() -> HostError? {
        guard bluez.isLoaded else { return BluezErrors.daemonMissing("The Bluetooth daemon does not run.") }
        guard let adapter = bluez.read({ $0.adapter(preferred: preferred) }) else {
            if let block = rfkill.block(adapter: nil) { return BluezErrors.adapterBlocked(block) }
            guard let preferred else { return BluezErrors.adapterMissing }
            let reason = "This machine has no adapter \(preferred), which the settings of bluetooth name."
            return BluezErrors.radio(
                "adapter_missing", reason, fix: "Plug it in, or change \"adapter\" in the settings.")
        }
        guard !adapter.isPowered else { return nil }
        if let block = rfkill.block(adapter: adapter.name) { return BluezErrors.adapterBlocked(block) }
        return adapter.powerState == "off-blocked" ? BluezErrors.adapterBlocked(.soft) : BluezErrors.adapterOff
    }

    /// What `authorization` answers and `watch` reports: `{"status": "ready" | "unavailable", …}`.
    func status(_ problem: HostError?) -> JSON {
        var json: JSON = ["status": .string(problem == nil ? "ready" : "unavailable")]
        if let problem {
            json.set("code", .string(problem.code))
            json.set("reason", .string(problem.message))
            if let fix = problem.details["fix"] { json.set("fix", fix) }
        }
        guard let adapter = bluez.read({ $0.adapter(preferred: preferred) }) else { return json }
        json.set(
            "adapter",
            [
                "name": .string(adapter.name), "alias": .string(adapter.alias), "powered": .bool(adapter.isPowered),
                "scanning": .bool(adapter.isDiscovering),
            ])
        if let version = adapter.bluezVersion { json.set("bluez", .string(version)) }
        return json
    }
}
