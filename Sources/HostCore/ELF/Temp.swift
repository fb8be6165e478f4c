import ApsuleKit
enum TempELF {
    static func descriptor(_ file: [UInt8]) throws(HostError) -> [UInt8] {
        func word<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> Int? {
            guard offset >= 0, offset + MemoryLayout<T>.size <= file.count else { return nil }
            return file.withUnsafeBytes { Int(truncatingIfNeeded: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
        }
        guard let table = word(0x28, UInt64.self), let size = word(0x3a, UInt16.self),
            let count = word(0x3c, UInt16.self), let names = word(0x3e, UInt16.self),
            let strings = word(table + names * size + 0x18, UInt64.self)
        else { throw HostError("plugin.not_elf", "x") }
        for index in 0..<count {
            let header = table + index * size
            guard let name = word(header, UInt32.self), let start = word(header + 0x18, UInt64.self),
                let length = word(header + 0x20, UInt64.self)
            else { break }
            let wanted = Array("apsule_family\0".utf8)
            let at = strings + name
            guard at >= 0, at + wanted.count <= file.count, Array(file[at..<at + wanted.count]) == wanted else { continue }
            var out = Array(file[start..<start + length])
            while out.last == 0 { out.removeLast() }
            return out
        }
        throw HostError("plugin.descriptor_missing", "x")
    }
}
