/// Builds a small shared library, sound or with one thing wrong.
struct ELFBuilder {
    var descriptors: [[UInt8]] = [Array(#"{"apsule":1}"#.utf8) + [0, 0, 0, 0]]
    var sectionName = "apsule_family"
    var sectionType: UInt32 = 1
    var sectionFlags: UInt64 = 2
    var bits: UInt8 = 2
    var byteOrder: UInt8 = 1
    var machine: UInt16? = nil
    var type: UInt16 = 3
    var needed = ["libc.so.6"]
    /// DT_RPATH is 15, DT_RUNPATH 29.
    var searchPath: (tag: UInt64, value: String)?
    var flags1: UInt64 = 0
    var stackFlags: UInt32? = 6
    var symbol = "apsule_plugin_demo"
    var symbolInfo: UInt8 = 0x12
    var symbolVisibility: UInt8 = 0
    var symbolSection: UInt16 = 1
    var usesGNUHash = true
    /// The hash table's chain has no end.
    var hashLoops = false
    var segmentSize: (_ actual: UInt64) -> UInt64 = { $0 }
    /// The number of sections stands in the first one, as in files with very many.
    var usesExtendedNumbering = false

    private static var hostMachine: UInt16 {
        #if arch(x86_64)
            62
        #elseif arch(arm64)
            183
        #else
            243
        #endif
    }

    func build() -> [UInt8] {
        var out = Bytes()
        out.append(contentsOf: repeatElement(0, count: 64 + 3 * 56))

        var strings = Bytes([0])
        func intern(_ text: String) -> UInt64 {
            defer { strings.append(contentsOf: Array(text.utf8) + [0]) }
            return UInt64(strings.count)
        }
        let neededNames = needed.map(intern)
        let pathName = searchPath.map { intern($0.value) }
        let symbolName = intern(symbol)

        let stringsAt = out.place(strings)
        var symbols = Bytes(repeating: 0, count: 24)
        symbols.put(UInt32(symbolName))
        symbols += [symbolInfo, symbolVisibility]
        symbols.put(symbolSection)
        symbols.put(UInt64(64))
        symbols.put(UInt64(8))
        let symbolsAt = out.place(symbols)
        let hashAt = out.place(hashTable())

        var dynamic = Bytes()
        func entry(_ tag: UInt64, _ value: UInt64) {
            dynamic.put(tag)
            dynamic.put(value)
        }
        for name in neededNames { entry(1, name) }
        if let searchPath, let pathName { entry(searchPath.tag, pathName) }
        entry(5, stringsAt)
        entry(10, UInt64(strings.count))
        entry(6, symbolsAt)
        entry(usesGNUHash ? 0x6FFF_FEF5 : 4, hashAt)
        if flags1 != 0 { entry(0x6FFF_FFFB, flags1) }
        entry(0, 0)
        let dynamicAt = out.place(dynamic)

        let contentsAt = descriptors.map { out.place($0) }
        let namesAt = out.place(Array("\0\(sectionName)\0.shstrtab\0".utf8))
        let count = UInt16(descriptors.count + 2)
        let sectionsAt = out.place(sections(contentsAt, namesAt, count))
        header(&out, sectionsAt, usesExtendedNumbering ? 0 : count, usesExtendedNumbering ? 0xFFFF : count - 1)
        let size = UInt64(out.count)
        segment(&out, 0, type: 1, flags: 5, offset: 0, size: segmentSize(size))
        segment(&out, 1, type: 2, flags: 6, offset: dynamicAt, size: UInt64(dynamic.count))
        segment(&out, 2, type: stackFlags == nil ? 0 : 0x6474_E551, flags: stackFlags ?? 0, offset: 0, size: 0)
        return out
    }

    private func hashTable() -> Bytes {
        var table = Bytes()
        if usesGNUHash {
            let hash = symbol.utf8.reduce(5381 as UInt32) { $0 &* 33 &+ UInt32($1) }
            for word: UInt32 in [1, 1, 1, 0] { table.put(word) }
            table.put(UInt64.max)
            table.put(UInt32(1))
            for _ in 0..<(hashLoops ? 4_000 : 1) { table.put(hashLoops ? hash & ~1 ^ 2 : hash | 1) }
        } else {
            for word: UInt32 in [1, 2, 1, 0, hashLoops ? 1 : 0] { table.put(word) }
        }
        return table
    }

    private func sections(_ contents: [UInt64], _ names: UInt64, _ count: UInt16) -> Bytes {
        var table = Bytes()
        func section(
            _ name: UInt32, _ type: UInt32, _ flags: UInt64, _ offset: UInt64, _ size: UInt64, _ link: UInt32 = 0
        ) {
            table.put(name)
            table.put(type)
            table.put(flags)
            table.put(offset)  // the address, which is the offset here
            table.put(offset)
            table.put(size)
            table.put(link)
            table.put(UInt32(0))
            table.put(UInt64(1))
            table.put(UInt64(0))
        }
        if usesExtendedNumbering {
            section(0, 0, 0, 0, UInt64(count), UInt32(count - 1))
        } else {
            section(0, 0, 0, 0, 0)
        }
        for (at, bytes) in zip(contents, descriptors) { section(1, sectionType, sectionFlags, at, UInt64(bytes.count)) }
        section(UInt32(sectionName.utf8.count + 2), 3, 0, names, UInt64(sectionName.utf8.count + 12))
        return table
    }

    private func header(_ out: inout Bytes, _ sectionsAt: UInt64, _ count: UInt16, _ names: UInt16) {
        var header = Bytes([0x7F, 0x45, 0x4C, 0x46, bits, byteOrder, 1, 0] + [UInt8](repeating: 0, count: 8))
        header.put(type)
        header.put(machine ?? Self.hostMachine)
        header.put(UInt32(1))
        header.put(UInt64(0))
        header.put(UInt64(64))
        header.put(sectionsAt)
        header.put(UInt32(0))
        for field in [64, 56, 3, 64, count, names] as [UInt16] { header.put(field) }
        out.replaceSubrange(0..<64, with: header)
    }

    private func segment(
        _ out: inout Bytes, _ index: Int, type: UInt32, flags: UInt32, offset: UInt64, size: UInt64
    ) {
        var entry = Bytes()
        entry.put(type)
        entry.put(flags)
        for field in [offset, offset, offset, size, size, 8] { entry.put(field) }
        out.replaceSubrange((64 + index * 56)..<(120 + index * 56), with: entry)
    }
}

typealias Bytes = [UInt8]

extension Bytes {
    mutating func put(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a part at the next multiple of 8 and says where.
    mutating func place(_ part: Bytes) -> UInt64 {
        append(contentsOf: repeatElement(0, count: (8 - count % 8) % 8))
        defer { append(contentsOf: part) }
        return UInt64(count)
    }
}
