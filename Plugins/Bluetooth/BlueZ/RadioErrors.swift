import ApsuleDBus
import ApsuleKit

// The errors that say why Bluetooth cannot work on this machine now, each with its reason and its fix.
extension BluezErrors {
    static func radio(_ code: String, _ reason: String, fix: String) -> HostError {
        HostError(
            "bluetooth.\(code)", reason, details: ["reason": .string(reason), "fix": .string(fix)])
    }

    static func daemonMissing(_ reason: String) -> HostError {
        radio(
            "daemon_missing", reason,
            fix: "Install and start BlueZ: apt install bluez && systemctl enable --now bluetooth")
    }

    static let daemonStopped = radio(
        "daemon_missing", "The Bluetooth daemon stopped.", fix: "Wait until it runs again: systemctl status bluetooth")

    static let adapterMissing = radio(
        "adapter_missing", "This machine has no Bluetooth adapter.",
        fix:
            "Plug one in, or switch the built-in one on in the firmware's settings; rfkill list and lsusb show what is there."
    )

    static let adapterOff = radio(
        "adapter_off", "The Bluetooth adapter is switched off.", fix: "Switch it on: bluetoothctl power on")

    static let accessDenied = radio(
        "access_denied", "This user may not talk to the Bluetooth daemon.",
        fix: "Add the user to the group bluetooth (sudo usermod -aG bluetooth USER) and log in again.")

    static func adapterBlocked(_ block: Rfkill.Block) -> HostError {
        switch block {
        case .soft:
            radio(
                "adapter_blocked", "The Bluetooth adapter is blocked by software (rfkill).",
                fix: "Unblock it: rfkill unblock bluetooth")
        case .hard:
            radio(
                "adapter_blocked", "The Bluetooth adapter is blocked by a hardware switch (rfkill).",
                fix: "Use the machine's wireless switch or key, then: rfkill unblock bluetooth")
        }
    }

    static let deviceNotFound = make(
        "device_not_found", "No such device is near by.",
        fix: "Check that it is switched on and advertising, and scan again.")

    static let disconnected = make("disconnected", "The device is no longer connected.")

    static func pairingRequired(_ error: DBusError? = nil) -> HostError {
        make(
            "pairing_required", "The device gives this to paired hosts only.", error, fix: "Call bluetooth.pair first.")
    }
}
