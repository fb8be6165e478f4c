internal import CBluez

/// Names of the companies whose numbers stand in manufacturer data, from libbluetooth.
///
/// Source: <https://github.com/bluez/bluez/blob/master/lib/bluetooth.h>
enum CompanyNames {
    /// - Returns: nil for a number that this version of the library does not know.
    static func name(_ company: UInt16) -> String? {
        guard let text = bt_compidtostr(Int32(company)) else { return nil }
        let name = String(cString: text)
        return name == "not assigned" || name == "internal use" ? nil : name
    }
}
