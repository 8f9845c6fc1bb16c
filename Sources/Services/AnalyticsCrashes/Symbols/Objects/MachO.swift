/// Reads Mach-O files of 32 and 64 bits and either byte order, thin or fat (Apple's <mach-o/loader.h> and
/// <mach-o/fat.h>).
enum MachO {
    /// The maximum number of parts in a fat file. Java classes begin with the same four bytes as fat files, followed by
    /// a number of at least 45.
    private static let maximumParts = 40
    private static let maximumCommands = 20_000

    static func fatParts(of source: ObjectSource, is64Bit: Bool) async throws -> [ObjectFile.Part] {
        let count = try ObjectFields(bytes: try await source.read(4, 4), isBigEndian: true).word(0)
        guard (1...maximumParts).contains(Int(count)) else {
            throw ObjectFile.Refusal(reason: "The fat file has no parts, or too many.")
        }
        let length = is64Bit ? 32 : 20
        let table = ObjectFields(bytes: try await source.read(8, UInt64(Int(count) * length)), isBigEndian: true)
        var parts: [ObjectFile.Part] = []
        for start in (0..<Int(count)).map({ $0 * length }) {
            let offset: UInt64
            let size: UInt64
            if is64Bit {
                (offset, size) = (try table.long(start + 8), try table.long(start + 16))
            } else {
                (offset, size) = (UInt64(try table.word(start + 8)), UInt64(try table.word(start + 12)))
            }
            parts.append(try await part(of: try source.part(offset, size)))
        }
        return parts
    }

    static func part(of source: ObjectSource) async throws -> ObjectFile.Part {
        let is64Bit: Bool
        let isBigEndian: Bool
        switch try await source.read(0, 4) {
        case [0xcf, 0xfa, 0xed, 0xfe]: (is64Bit, isBigEndian) = (true, false)
        case [0xce, 0xfa, 0xed, 0xfe]: (is64Bit, isBigEndian) = (false, false)
        case [0xfe, 0xed, 0xfa, 0xcf]: (is64Bit, isBigEndian) = (true, true)
        case [0xfe, 0xed, 0xfa, 0xce]: (is64Bit, isBigEndian) = (false, true)
        default: throw ObjectFile.Refusal(reason: "The file is neither Mach-O, ELF nor a source bundle.")
        }
        let length = is64Bit ? 32 : 28
        let header = ObjectFields(bytes: try await source.read(0, UInt64(length)), isBigEndian: isBigEndian)
        let count = Int(try header.word(16))
        guard count <= maximumCommands else {
            throw ObjectFile.Refusal(reason: "The Mach-O file has too many load commands.")
        }
        let commands = ObjectFields(
            bytes: try await source.read(UInt64(length), UInt64(try header.word(20))), isBigEndian: isBigEndian)
        let found = try read(commands, count, is64Bit: is64Bit)
        guard let debugID = found.debugID else { throw ObjectFile.Refusal(reason: "The Mach-O file has no UUID.") }
        return ObjectFile.Part(
            debugID: debugID, architecture: architecture(try header.word(4), try header.word(8)),
            kind: kind(try header.word(12)),
            hasDebugInformation: found.hasDebugInformation, address: found.address, range: source.range)
    }

    private struct Found {
        var debugID: DebugID?
        var hasDebugInformation = false
        /// The address of `__TEXT`.
        var address: UInt64 = 0
    }

    private static func read(_ commands: ObjectFields, _ count: Int, is64Bit: Bool) throws -> Found {
        var found = Found()
        var position = 0
        for _ in 0..<count {
            let size = Int(try commands.word(position + 4))
            guard size >= 8, size <= commands.bytes.count - position else {
                throw ObjectFile.Refusal(reason: "The load commands are damaged.")
            }
            // 0x1b is LC_UUID, 0x19 LC_SEGMENT_64 and 0x01 LC_SEGMENT.
            switch try commands.word(position) {
            case 0x1b where size >= 24: found.debugID = DebugID(uuid: commands.bytes[position + 8..<position + 24])
            case 0x19 where is64Bit && size >= 72:
                switch try commands.name(position + 8, upTo: 16) {
                case "__TEXT": found.address = try commands.long(position + 24)
                case "__DWARF":
                    found.hasDebugInformation = try hasDebugInformation(
                        commands, position + 72, sectionLength: 80, count: Int(try commands.word(position + 64)),
                        end: position + size)
                default: break
                }
            case 0x01 where !is64Bit && size >= 56:
                switch try commands.name(position + 8, upTo: 16) {
                case "__TEXT": found.address = UInt64(try commands.word(position + 24))
                case "__DWARF":
                    found.hasDebugInformation = try hasDebugInformation(
                        commands, position + 56, sectionLength: 68, count: Int(try commands.word(position + 48)),
                        end: position + size)
                default: break
                }
            default: break
            }
            position += size
        }
        return found
    }

    private static func hasDebugInformation(
        _ commands: ObjectFields, _ start: Int, sectionLength: Int, count: Int, end: Int
    ) throws -> Bool {
        guard count <= (end - start) / sectionLength else {
            throw ObjectFile.Refusal(reason: "The sections are damaged.")
        }
        return try (0..<count).contains { try commands.name(start + $0 * sectionLength, upTo: 16) == "__debug_info" }
    }

    private static func architecture(_ type: UInt32, _ subtype: UInt32) -> String {
        switch (type, subtype & 0x00ff_ffff) {
        case (0x0100_000c, 2): "arm64e"
        case (0x0100_000c, _): "arm64"
        case (0x0200_000c, _): "arm64_32"
        case (0x0100_0007, 8): "x86_64h"
        case (0x0100_0007, _): "x86_64"
        case (7, _): "x86"
        case (12, 9): "armv7"
        case (12, 10): "armv7f"
        case (12, 11): "armv7s"
        case (12, 12): "armv7k"
        case (12, _): "arm"
        default: "unknown"
        }
    }

    private static func kind(_ type: UInt32) -> ObjectFile.Kind {
        switch type {
        case 0xa: .dsym
        case 2: .executable
        case 6, 8: .library
        case 1: .object
        default: .other
        }
    }
}
