/// Reads ELF files with a GNU build id, as made by Android's and Linux's tools (System V ABI, chapters 4 and 5).
enum ELF {
    private static let maximumSections = 20_000
    private static let maximumNotesInBytes: UInt64 = 64 << 10

    static func part(of source: ObjectSource) async throws -> ObjectFile.Part {
        let kind = try await source.read(4, 2)
        guard [1, 2].contains(kind[0]), [1, 2].contains(kind[1]) else {
            throw ObjectFile.Refusal(reason: "The ELF file is damaged.")
        }
        let (is64Bit, isBigEndian) = (kind[0] == 2, kind[1] == 2)
        let header = ObjectFields(bytes: try await source.read(0, is64Bit ? 64 : 52), isBigEndian: isBigEndian)
        let sections = try await sections(of: source, header, is64Bit: is64Bit)
        var buildID: [UInt8]?
        // 7 is SHT_NOTE.
        for section in sections where section.type == 7 && buildID == nil && section.size <= maximumNotesInBytes {
            let notes = ObjectFields(
                bytes: try await source.read(section.offset, section.size), isBigEndian: isBigEndian)
            buildID = try Self.buildID(in: notes)
        }
        guard let buildID else { throw ObjectFile.Refusal(reason: "The ELF file has no GNU build id.") }
        return ObjectFile.Part(
            debugID: debugID(buildID, isBigEndian: isBigEndian), architecture: architecture(try header.half(18)),
            kind: .elf,
            hasDebugInformation: sections.contains { $0.name == ".debug_info" || $0.name == ".zdebug_info" },
            address: try await address(of: source, header, is64Bit: is64Bit), range: source.range)
    }

    private struct Section {
        var name: String
        var type: UInt32
        var offset: UInt64
        var size: UInt64
    }

    private static func sections(of source: ObjectSource, _ header: ObjectFields, is64Bit: Bool) async throws
        -> [Section]
    {
        let table = try is64Bit ? header.long(40) : UInt64(header.word(32))
        let length = Int(try header.half(is64Bit ? 58 : 46))
        let count = Int(try header.half(is64Bit ? 60 : 48))
        let namesIndex = Int(try header.half(is64Bit ? 62 : 50))
        guard count > 0, count <= maximumSections, length >= (is64Bit ? 64 : 40), namesIndex < count else {
            throw ObjectFile.Refusal(reason: "The ELF file has no sections.")
        }
        let headers = ObjectFields(
            bytes: try await source.read(table, UInt64(count * length)), isBigEndian: header.isBigEndian)
        func location(_ index: Int) throws -> (offset: UInt64, size: UInt64) {
            let start = index * length
            return try is64Bit
                ? (headers.long(start + 24), headers.long(start + 32))
                : (UInt64(headers.word(start + 16)), UInt64(headers.word(start + 20)))
        }
        let namesLocation = try location(namesIndex)
        let names = ObjectFields(
            bytes: try await source.read(namesLocation.offset, namesLocation.size), isBigEndian: header.isBigEndian)
        return try (0..<count).map { index in
            let (offset, size) = try location(index)
            let name = Int(try headers.word(index * length))
            guard name <= names.bytes.count else { throw ObjectFile.Refusal(reason: "The sections are damaged.") }
            return Section(
                name: try names.name(name, upTo: min(32, names.bytes.count - name)),
                type: try headers.word(index * length + 4), offset: offset,
                size: size)
        }
    }

    /// The build id in a list of notes, each `name size, description size, type`, then name and description padded to 4
    /// bytes.
    private static func buildID(in notes: ObjectFields) throws -> [UInt8]? {
        var position = 0
        while position + 12 <= notes.bytes.count {
            let (nameSize, size) = (Int(try notes.word(position)), Int(try notes.word(position + 4)))
            let start = position + 12 + (nameSize + 3) / 4 * 4
            guard start <= notes.bytes.count, size <= notes.bytes.count - start else { return nil }
            // 3 is NT_GNU_BUILD_ID.
            if try notes.word(position + 8) == 3, nameSize == 4, try notes.name(position + 12, upTo: 4) == "GNU",
                size > 0
            {
                return Array(notes.bytes[start..<start + size])
            }
            position = start + (size + 3) / 4 * 4
        }
        return nil
    }

    static func debugID(_ buildID: [UInt8], isBigEndian: Bool) -> DebugID {
        var bytes = Array((buildID + [UInt8](repeating: 0, count: 16)).prefix(16))
        if !isBigEndian {
            bytes[0..<4].reverse()
            bytes[4..<6].reverse()
            bytes[6..<8].reverse()
        }
        return DebugID(uuid: bytes)
    }

    /// The address of the first loaded segment (type 1, PT_LOAD); 0 if there is none.
    private static func address(of source: ObjectSource, _ header: ObjectFields, is64Bit: Bool) async throws -> UInt64 {
        let table = try is64Bit ? header.long(32) : UInt64(header.word(28))
        let length = Int(try header.half(is64Bit ? 54 : 42))
        let count = Int(try header.half(is64Bit ? 56 : 44))
        guard count > 0, length >= (is64Bit ? 56 : 32) else { return 0 }
        let headers = ObjectFields(
            bytes: try await source.read(table, UInt64(count * length)), isBigEndian: header.isBigEndian)
        for start in (0..<count).map({ $0 * length }) where try headers.word(start) == 1 {
            return try is64Bit ? headers.long(start + 16) : UInt64(headers.word(start + 8))
        }
        return 0
    }

    private static func architecture(_ machine: UInt16) -> String {
        switch machine {
        case 3: "x86"
        case 40: "arm"
        case 62: "x86_64"
        case 183: "arm64"
        case 243: "riscv"
        default: "unknown"
        }
    }
}
