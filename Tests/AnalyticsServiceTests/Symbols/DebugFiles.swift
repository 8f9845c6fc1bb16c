import Crypto
import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@testable import AnalyticsService

/// Debug files for tests: the real one, and others derived from it.
enum DebugFiles {
    static let path =
        (ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors")
        + "/sentry/macos-crash.dSYM.macho"
    static let isAvailable = FileManager.default.fileExists(atPath: path)
    static let debugID = "67e9247c-814e-392b-a027-dbde6748fcbf"

    static func real() throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

    /// The real one, changed to another build and processor.
    static func other(uuid: [UInt8] = [UInt8](repeating: 0x11, count: 16)) throws -> [UInt8] {
        var bytes = try real()
        let known: [UInt8] = [
            0x67, 0xe9, 0x24, 0x7c, 0x81, 0x4e, 0x39, 0x2b, 0xa0, 0x27, 0xdb, 0xde, 0x67, 0x48, 0xfc, 0xbf,
        ]
        let place = try #require(bytes.indices.first { $0 + 16 < 8_192 && Array(bytes[$0..<$0 + 16]) == known })
        bytes.replaceSubrange(place..<place + 16, with: uuid)
        bytes.replaceSubrange(4..<12, with: [0x0c, 0, 0, 1, 0, 0, 0, 0])
        return bytes
    }

    /// A fat file with these parts.
    static func fat(_ parts: [[UInt8]]) -> [UInt8] {
        var (header, body): ([UInt8], [UInt8]) = ([0xca, 0xfe, 0xba, 0xbe] + big(UInt32(parts.count)), [])
        for part in parts {
            let entry: [UInt32] = [0x0100_0007, 3, UInt32(4_096 + body.count), UInt32(part.count), 0]
            header += entry.flatMap { big($0) }
            body += part + [UInt8](repeating: 0, count: (16 - part.count % 16) % 16)
        }
        return header + [UInt8](repeating: 0, count: 4_096 - header.count) + body
    }

    /// Load commands after a header of either size and byte order.
    static func machO(is64Bit: Bool, isBigEndian: Bool, type: UInt32, cpu: UInt32, commands: [[UInt8]]) -> [UInt8] {
        func word(_ value: UInt32) -> [UInt8] { isBigEndian ? big(value) : big(value).reversed() }
        let size = commands.reduce(0) { $0 + $1.count }
        let magic: UInt32 = is64Bit ? 0xfeed_facf : 0xfeed_face
        var header = [magic, cpu, 0, type, UInt32(commands.count), UInt32(size), 0]
        if is64Bit { header.append(0) }
        return header.flatMap(word) + commands.joined()
    }

    static func big(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
    static func little(_ value: some FixedWidthInteger) -> [UInt8] { big(value).reversed() }

    static func name(_ text: String, _ length: Int = 16) -> [UInt8] {
        Array(text.utf8) + [UInt8](repeating: 0, count: length - text.utf8.count)
    }

    /// A small 64-bit ELF as laid out by `ld --build-id`: three sections and a segment.
    static func elf(buildID: [UInt8]) -> [UInt8] {
        func words(_ values: UInt32...) -> [UInt8] { values.flatMap { little($0) } }
        func longs(_ values: UInt64...) -> [UInt8] { values.flatMap { little($0) } }
        func halves(_ values: UInt16...) -> [UInt8] { values.flatMap { little($0) } }
        let note = words(4, UInt32(buildID.count), 3) + name("GNU", 4) + buildID
        let names = Array("\0.note.gnu.build-id\0.shstrtab\0.debug_info\0".utf8)
        let segment = words(1, 5) + longs(0, 0x1_0000, 0, 0, 0, 0)
        let (noteStart, namesStart) = (UInt64(64 + segment.count), UInt64(64 + segment.count + note.count))
        func section(_ name: UInt32, _ type: UInt32, _ offset: UInt64, _ size: Int) -> [UInt8] {
            words(name, type) + longs(0, 0, offset, UInt64(size), 0, 0, 0)
        }
        let sections = [
            section(0, 0, 0, 0), section(1, 7, noteStart, note.count), section(20, 3, namesStart, names.count),
            section(30, 1, 0, 0),
        ]
        var header: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        header += halves(3, 183)
        header += words(1)
        header += longs(0, 64, namesStart + UInt64(names.count))
        header += words(0)
        header += halves(64, 56, 1, 64, 4, 2)
        return Array([header, segment, note, names, Array(sections.joined())].joined())
    }
}

/// Uploads files like `sentry-cli`.
struct SymbolUpload {
    let app: AnalyticsApp
    var chunkLength = 200_000

    static func sha1(_ bytes: [UInt8]) -> String { Hexadecimal.text(Insecure.SHA1.hash(data: bytes)) }

    func chunks(_ file: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: file.count, by: chunkLength).map { Array(file[$0..<min($0 + chunkLength, file.count)]) }
    }

    /// A form with chunks, each under the given name.
    func send(_ pieces: [(name: String, bytes: [UInt8])]) async throws -> Answer {
        try await send(pieces, to: "/crash/api/0/organizations/any/chunk-upload/", as: app.principal(.master))
    }

    /// The same as a staff member.
    func send(_ pieces: [(name: String, bytes: [UInt8])], asStaffWith rights: StaffRights) async throws -> Answer {
        let staff = app.principal(.staff, staff: StaffGrant(id: Colleague.ada.id, userName: "ada", rights: rights))
        return try await send(pieces, to: "/crashes/symbols/chunks", as: staff)
    }

    private func send(_ pieces: [(name: String, bytes: [UInt8])], to path: String, as principal: Principal)
        async throws -> Answer
    {
        var body: [UInt8] = []
        for piece in pieces {
            body += Array(
                "--edge\r\nContent-Disposition: form-data; name=\"file_gzip\"; filename=\"\(piece.name)\"\r\n\r\n".utf8)
            body += piece.bytes + Array("\r\n".utf8)
        }
        body += Array("--edge--\r\n".utf8)
        return try await app.gateway.acting(as: principal).send(
            "POST", path, bytes: body, headers: ["Content-Type": "multipart/form-data; boundary=edge"])
    }

    func assemble(_ file: [UInt8], name: String = "app.dSYM", debugID: String? = nil, project: String = "1")
        async throws -> Answer
    {
        let chunks = chunks(file).map { "\"\(Self.sha1($0))\"" }.joined(separator: ",")
        let expected = debugID.map { "\"debug_id\":\"\($0)\"," } ?? ""
        return try await app.master(
            "POST", "/crash/api/0/projects/any/\(project)/files/difs/assemble/",
            "{\"\(Self.sha1(file))\":{\"name\":\"\(name)\",\(expected)\"chunks\":[\(chunks)]}}")
    }

    /// Uploads a whole file; returns its final state.
    func upload(_ file: [UInt8], debugID: String? = nil) async throws -> (state: String, answer: Answer) {
        let sent = try await send(chunks(file).map { (Self.sha1($0), $0) })
        try #require(sent.status == 200, "\(sent)")
        return try await settled { try await assemble(file, debugID: debugID) }
    }

    func settled(_ ask: () async throws -> Answer) async throws -> (state: String, answer: Answer) {
        try await eventually("the file is assembled") {
            let answer = try await ask()
            guard answer.status == 200, case .object(let members) = answer.json,
                case .string(let state) = members.first?.value["state"]
            else {
                Issue.record("\(answer)")
                return ("", answer)
            }
            return state != "created" && state != "assembling" ? (state, answer) : nil
        }
    }
}
