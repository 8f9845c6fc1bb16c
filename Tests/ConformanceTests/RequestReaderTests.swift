import Foundation
import Testing

/// What callers send is read by the one strict reader (`Request.json`, `BodyFields`, `JSONText`), dates by `Date(rfc3339:)` and `CalendarDay`, time
/// zones by `TimeZone(iana:)`.
@Suite struct RequestReaderTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

    /// Swift files of ours below a folder, by their path.
    private static func sources(_ folder: String) throws -> [(path: String, text: String)] {
        let start = root.appending(path: folder)
        let files = try #require(FileManager.default.enumerator(at: start, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }.map {
            (String($0.path.dropFirst(root.path.count)), try String(contentsOf: $0, encoding: .utf8))
        }
    }

    @Test func `no endpoint decodes a request by itself`() throws {
        let files = try Self.sources("Sources/Services")
        #expect(files.count > 500)
        for (path, text) in files where path.contains("/Endpoints/") {
            for line in text.split(separator: "\n") where line.contains("JSONDecoder(") || line.contains("JSONSerialization") {
                // What a service stored, and what another one of ours answered.
                let isOurs = line.contains("row.decode") || line.contains("last.decode")
                #expect(isOurs || Self.checked.contains { path.hasSuffix($0) }, "\(path): \(line)")
            }
        }
    }

    /// A claim of a token that is checked by `JSONText.validate` before, and a flag of the command line.
    private static let checked = ["/Endpoints/Staff/StaffParameters.swift"]

    @Test func `nobody but the one reader makes times and time zones of text`() throws {
        let files = try Self.sources("Sources/Services") + Self.sources("Sources/Shared")
        let wanted = ["ISO8601FormatStyle().parse", "strategy: .iso8601)", "ISO8601DateFormatter", "strptime("]
        for (path, text) in files {
            for line in text.split(separator: "\n") {
                #expect(!wanted.contains { line.contains($0) }, "\(path): \(line)")
                // Of a device or a message as they are stored: what was checked when it came.
                let isStored = path.hasSuffix("/MessageTiming.swift") || path.hasSuffix("/TimeZone+IANA.swift") || path.hasSuffix("/Tus.swift")
                #expect(isStored || !line.contains("TimeZone(identifier:"), "\(path): \(line)")
            }
        }
    }
}
