import ApsuleKit

/// The headers of a shared library for this machine.
///
/// Layout: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
struct ELFFile: Sendable {
    struct Segment: Sendable {
        let type: UInt32, flags: UInt32
        let offset: UInt64, address: UInt64, fileSize: UInt64, memorySize: UInt64
    }

    let source: ELFSource
    let segments: [Segment]
    private let header: ELFBytes

    init(_ source: ELFSource) throws(HostError) {
        self.source = source
        header = try Self.header(of: source)
        segments = try Self.segments(of: source, header)
    }

    // MARK: Reading

    private static func header(of source: ELFSource) throws(HostError) -> ELFBytes {
        guard let magic = source.read(0, 4), magic.bytes == [0x7F, 0x45, 0x4C, 0x46] else {
            throw HostError("plugin.not_elf", "This is no shared library: it does not start as an ELF file does.")
        }
        guard let header = source.read(0, 64) else { throw truncated(source, needs: 64) }
        guard header.bytes[4] == 2, header.bytes[5] == 1, header.integer(18, as: UInt16.self) == machine else {
            throw HostError(
                "plugin.wrong_machine", "The library was built for another kind of machine; build it on this kind.",
                details: [
                    "machine": .int(Int64(header.integer(18, as: UInt16.self))), "host": .int(Int64(machine)),
                    "bits": header.bytes[4] == 2 ? 64 : 32,
                ])
        }
        guard header.integer(16, as: UInt16.self) == 3 else {
            throw HostError("plugin.not_library", "This is an ELF file, but no shared library; link it with -shared.")
        }
        return header
    }

    private static func segments(of source: ELFSource, _ header: ELFBytes) throws(HostError) -> [Segment] {
        let count = Int(header.integer(56, as: UInt16.self))
        guard header.integer(54, as: UInt16.self) == 56, count > 0, count < 0xFFFF else {
            throw damaged("its program headers are not those of a library")
        }
        let offset: UInt64 = header.integer(32)
        guard let table = source.read(offset, UInt64(count) * 56) else {
            throw truncated(source, needs: offset.addingReportingOverflow(UInt64(count) * 56).partialValue)
        }
        var segments: [Segment] = []
        for index in 0..<count {
            let entry = index * 56
            let segment = Segment(
                type: table.integer(entry), flags: table.integer(entry + 4), offset: table.integer(entry + 8),
                address: table.integer(entry + 16), fileSize: table.integer(entry + 32),
                memorySize: table.integer(entry + 40))
            if segment.type == loadable {
                // The loader maps what the header says; a page beyond the file's end kills the process on touch.
                guard source.contains(segment.offset, segment.fileSize) else {
                    let end = segment.offset.addingReportingOverflow(segment.fileSize)
                    throw end.overflow
                        ? damaged("a segment ends beyond any file") : truncated(source, needs: end.partialValue)
                }
                guard segment.fileSize <= segment.memorySize,
                    !segment.address.addingReportingOverflow(segment.memorySize).overflow
                else { throw damaged("a segment is larger in the file than in memory") }
            }
            segments.append(segment)
        }
        guard segments.contains(where: { $0.type == loadable }) else { throw damaged("it has nothing to load") }
        return segments
    }

    /// The contents of all sections of this name, each without the zero bytes at its end.
    ///
    /// - Throws: `plugin.truncated`, `plugin.damaged`; `plugin.descriptor_too_large` beyond `limit` bytes.
    func contents(ofSection name: String, limit: UInt64) throws(HostError) -> [UInt8] {
        let offset: UInt64 = header.integer(40)
        if offset == 0 { return [] }
        guard let first = source.read(offset, 64) else { throw Self.truncated(source, needs: offset &+ 64) }
        // Numbers that do not fit the header stand in the first section.
        let small = header.integer(60, as: UInt16.self)
        let count = small == 0 ? first.integer(32, as: UInt64.self) : UInt64(small)
        let smallNames = header.integer(62, as: UInt16.self)
        let names = smallNames == 0xFFFF ? UInt64(first.integer(40, as: UInt32.self)) : UInt64(smallNames)
        guard header.integer(58, as: UInt16.self) == 64, count <= 0x10000, names < count else {
            throw Self.damaged("its section headers are not those of a library")
        }
        guard let table = source.read(offset, count * 64) else {
            throw Self.truncated(source, needs: offset &+ count * 64)
        }
        func field(_ section: Int, _ offset: Int) -> UInt64 { table.integer(section * 64 + offset) }
        let textSize = field(Int(names), 32)
        guard textSize <= 1 << 24 else { throw Self.damaged("the names of its sections take \(textSize) bytes") }
        guard let texts = source.read(field(Int(names), 24), textSize) else {
            throw Self.truncated(source, needs: field(Int(names), 24) &+ textSize)
        }
        let wanted = Array(name.utf8) + [0]
        var contents: [UInt8] = []
        var total: UInt64 = 0
        for section in 0..<Int(count) {
            let start = Int(table.integer(section * 64, as: UInt32.self))
            guard texts.bytes.dropFirst(start).starts(with: wanted) else { continue }
            let size = field(section, 32)
            guard table.integer(section * 64 + 4, as: UInt32.self) == 1, field(section, 8) & 0x800 == 0 else {
                throw Self.damaged("the section \(name) holds no plain bytes")
            }
            total = total.addingReportingOverflow(size).overflow ? .max : total + size
            guard total <= limit else {
                throw HostError(
                    "plugin.descriptor_too_large", "The descriptor is larger than \(limit) bytes.",
                    details: ["limit": .int(Int64(limit))])
            }
            guard let bytes = source.read(field(section, 24), size)?.bytes else {
                throw Self.truncated(source, needs: field(section, 24) &+ size)
            }
            contents += bytes[..<((bytes.lastIndex { $0 != 0 } ?? -1) + 1)]
        }
        return contents
    }

    /// Where an address of the loaded library is in the file, with the number of bytes that follow there.
    func offset(of address: UInt64) -> (offset: UInt64, available: UInt64)? {
        for segment in segments where segment.type == Self.loadable && address >= segment.address {
            let inside = address - segment.address
            if inside < segment.fileSize { return (segment.offset + inside, segment.fileSize - inside) }
        }
        return nil
    }

    /// Bytes by their address in the loaded library.
    func read(address: UInt64, _ count: UInt64) -> ELFBytes? {
        guard let (offset, available) = offset(of: address), count <= available else { return nil }
        return source.read(offset, count)
    }

    // MARK: Constants and errors

    static let loadable: UInt32 = 1, dynamic: UInt32 = 2, stack: UInt32 = 0x6474_E551

    #if arch(x86_64)
        static let machine: UInt16 = 62
    #elseif arch(arm64)
        static let machine: UInt16 = 183
    #elseif arch(riscv64)
        static let machine: UInt16 = 243
    #endif

    static func truncated(_ source: ELFSource, needs size: UInt64) -> HostError {
        HostError(
            "plugin.truncated", "The file ends early: it has \(source.size) bytes and its headers name \(size).",
            details: ["size": .int(Int64(clamping: source.size)), "needed": .int(Int64(clamping: size))])
    }

    static func damaged(_ reason: String) -> HostError {
        HostError("plugin.damaged", "The file is damaged: \(reason).", details: ["reason": .string(reason)])
    }
}
