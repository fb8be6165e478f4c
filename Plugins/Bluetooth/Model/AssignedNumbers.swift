/// Names of standard GATT services and characteristics.
///
/// Source: <https://www.bluetooth.com/specifications/assigned-numbers/>
enum AssignedNumbers {
    static func serviceName(_ uuid: BluetoothUUID) -> String? { uuid.assigned.flatMap { services[$0] } }
    static func characteristicName(_ uuid: BluetoothUUID) -> String? { uuid.assigned.flatMap { characteristics[$0] } }

    /// A service by its name in any spelling: `heart_rate`, `Heart Rate`, `battery_service`.
    static func service(named name: String) -> BluetoothUUID? { find(name, in: servicesByName) }
    static func characteristic(named name: String) -> BluetoothUUID? { find(name, in: characteristicsByName) }

    private static func find(_ name: String, in table: [String: UInt16]) -> BluetoothUUID? {
        table[normalized(name)].map(BluetoothUUID.init(short:))
    }

    /// Lower case with underscores, without the words that only some lists have.
    static func normalized(_ name: String) -> String {
        let words = name.lowercased().split { !($0.isLetter || $0.isNumber) }
        return words.filter { $0 != "service" && $0 != "string" }.joined(separator: "_")
    }

    private static let servicesByName = byName(services)
    private static let characteristicsByName = byName(characteristics)

    private static func byName(_ table: [UInt16: String]) -> [String: UInt16] {
        Dictionary(table.map { (normalized($0.value), $0.key) }, uniquingKeysWith: min)
    }

    /// Assigned to the Bluetooth SIG itself, and the few of members that scanners meet.
    private static let services: [UInt16: String] = [
        0x1800: "Generic Access", 0x1801: "Generic Attribute", 0x1802: "Immediate Alert", 0x1803: "Link Loss",
        0x1804: "Tx Power", 0x1805: "Current Time", 0x1806: "Reference Time Update", 0x1807: "Next DST Change",
        0x1808: "Glucose", 0x1809: "Health Thermometer", 0x180a: "Device Information", 0x180d: "Heart Rate",
        0x180e: "Phone Alert Status", 0x180f: "Battery", 0x1810: "Blood Pressure", 0x1811: "Alert Notification",
        0x1812: "Human Interface Device", 0x1813: "Scan Parameters", 0x1814: "Running Speed and Cadence",
        0x1815: "Automation IO", 0x1816: "Cycling Speed and Cadence", 0x1818: "Cycling Power",
        0x1819: "Location and Navigation", 0x181a: "Environmental Sensing", 0x181b: "Body Composition",
        0x181c: "User Data", 0x181d: "Weight Scale", 0x181e: "Bond Management",
        0x181f: "Continuous Glucose Monitoring", 0x1820: "Internet Protocol Support", 0x1821: "Indoor Positioning",
        0x1822: "Pulse Oximeter", 0x1823: "HTTP Proxy", 0x1824: "Transport Discovery", 0x1825: "Object Transfer",
        0x1826: "Fitness Machine", 0x1827: "Mesh Provisioning", 0x1828: "Mesh Proxy",
        0x1829: "Reconnection Configuration", 0x183a: "Insulin Delivery", 0x183b: "Binary Sensor",
        0x183c: "Emergency Configuration", 0x183d: "Authorization Control", 0x183e: "Physical Activity Monitor",
        0x183f: "Elapsed Time", 0x1840: "Generic Health Sensor", 0x1843: "Audio Input Control",
        0x1844: "Volume Control", 0x1845: "Volume Offset Control", 0x1846: "Coordinated Set Identification",
        0x1847: "Device Time", 0x1848: "Media Control", 0x1849: "Generic Media Control",
        0x184a: "Constant Tone Extension", 0x184b: "Telephone Bearer", 0x184c: "Generic Telephone Bearer",
        0x184d: "Microphone Control", 0x184e: "Audio Stream Control", 0x184f: "Broadcast Audio Scan",
        0x1850: "Published Audio Capabilities", 0x1851: "Basic Audio Announcement",
        0x1852: "Broadcast Audio Announcement", 0x1853: "Common Audio", 0x1854: "Hearing Access",
        0x1855: "Telephony and Media Audio", 0x1856: "Public Broadcast Announcement",
        0x1857: "Electronic Shelf Label", 0x1858: "Gaming Audio", 0x1859: "Mesh Proxy Solicitation",
        0xfd6f: "Exposure Notification", 0xfde2: "FIDO Pairingless", 0xfe59: "Nordic Secure DFU", 0xfeaa: "Eddystone",
        0xfff9: "FIDO Client", 0xfffd: "FIDO",
    ]

    /// Those of the services above that a project may read or that a listing shows.
    private static let characteristics: [UInt16: String] = [
        0x2a00: "Device Name", 0x2a01: "Appearance", 0x2a02: "Peripheral Privacy Flag",
        0x2a03: "Reconnection Address", 0x2a04: "Peripheral Preferred Connection Parameters",
        0x2a05: "Service Changed", 0x2a06: "Alert Level", 0x2a07: "Tx Power Level", 0x2a08: "Date Time",
        0x2a09: "Day of Week", 0x2a0a: "Day Date Time", 0x2a0f: "Local Time Information",
        0x2a14: "Reference Time Information", 0x2a18: "Glucose Measurement", 0x2a19: "Battery Level",
        0x2a1c: "Temperature Measurement", 0x2a1d: "Temperature Type", 0x2a1e: "Intermediate Temperature",
        0x2a21: "Measurement Interval", 0x2a22: "Boot Keyboard Input Report", 0x2a23: "System ID",
        0x2a24: "Model Number String", 0x2a25: "Serial Number String", 0x2a26: "Firmware Revision String",
        0x2a27: "Hardware Revision String", 0x2a28: "Software Revision String", 0x2a29: "Manufacturer Name String",
        0x2a2a: "IEEE 11073-20601 Regulatory Certification Data List", 0x2a2b: "Current Time", 0x2a31: "Scan Refresh",
        0x2a32: "Boot Keyboard Output Report", 0x2a33: "Boot Mouse Input Report",
        0x2a34: "Glucose Measurement Context", 0x2a35: "Blood Pressure Measurement",
        0x2a36: "Intermediate Cuff Pressure", 0x2a37: "Heart Rate Measurement", 0x2a38: "Body Sensor Location",
        0x2a39: "Heart Rate Control Point", 0x2a3f: "Alert Status", 0x2a40: "Ringer Control Point",
        0x2a41: "Ringer Setting", 0x2a44: "Alert Notification Control Point", 0x2a45: "Unread Alert Status",
        0x2a46: "New Alert", 0x2a49: "Blood Pressure Feature", 0x2a4a: "HID Information", 0x2a4b: "Report Map",
        0x2a4c: "HID Control Point", 0x2a4d: "Report", 0x2a4e: "Protocol Mode", 0x2a4f: "Scan Interval Window",
        0x2a50: "PnP ID", 0x2a51: "Glucose Feature", 0x2a52: "Record Access Control Point", 0x2a53: "RSC Measurement",
        0x2a54: "RSC Feature", 0x2a55: "SC Control Point", 0x2a56: "Digital", 0x2a58: "Analog", 0x2a5a: "Aggregate",
        0x2a5b: "CSC Measurement", 0x2a5c: "CSC Feature", 0x2a5d: "Sensor Location",
        0x2a5e: "PLX Spot-Check Measurement", 0x2a5f: "PLX Continuous Measurement", 0x2a60: "PLX Features",
        0x2a63: "Cycling Power Measurement", 0x2a64: "Cycling Power Vector", 0x2a65: "Cycling Power Feature",
        0x2a66: "Cycling Power Control Point", 0x2a67: "Location and Speed", 0x2a68: "Navigation",
        0x2a6a: "LN Feature", 0x2a6b: "LN Control Point", 0x2a6c: "Elevation", 0x2a6d: "Pressure",
        0x2a6e: "Temperature", 0x2a6f: "Humidity", 0x2a70: "True Wind Speed", 0x2a71: "True Wind Direction",
        0x2a72: "Apparent Wind Speed", 0x2a73: "Apparent Wind Direction", 0x2a74: "Gust Factor",
        0x2a75: "Pollen Concentration", 0x2a76: "UV Index", 0x2a77: "Irradiance", 0x2a78: "Rainfall",
        0x2a79: "Wind Chill", 0x2a7a: "Heat Index", 0x2a7b: "Dew Point", 0x2a7d: "Descriptor Value Changed",
        0x2a8e: "Height", 0x2a98: "Weight", 0x2a99: "Database Change Increment", 0x2a9a: "User Index",
        0x2a9b: "Body Composition Feature", 0x2a9c: "Body Composition Measurement", 0x2a9d: "Weight Measurement",
        0x2a9e: "Weight Scale Feature", 0x2a9f: "User Control Point", 0x2aa3: "Barometric Pressure Trend",
        0x2aa4: "Bond Management Control Point", 0x2aa5: "Bond Management Feature",
        0x2aa6: "Central Address Resolution", 0x2aa7: "CGM Measurement", 0x2aa8: "CGM Feature", 0x2aa9: "CGM Status",
        0x2aac: "CGM Specific Ops Control Point", 0x2ab3: "Altitude", 0x2ac9: "Resolvable Private Address Only",
        0x2acc: "Fitness Machine Feature", 0x2acd: "Treadmill Data", 0x2ace: "Cross Trainer Data",
        0x2ad1: "Rower Data", 0x2ad2: "Indoor Bike Data", 0x2ad3: "Training Status",
        0x2ad9: "Fitness Machine Control Point", 0x2ada: "Fitness Machine Status",
        0x2b29: "Client Supported Features", 0x2b2a: "Database Hash", 0x2b3a: "Server Supported Features",
    ]
}
