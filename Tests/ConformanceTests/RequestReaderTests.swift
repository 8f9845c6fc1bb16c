import MartletTesting
import Testing

/// What callers send is read by the one strict reader (`Request.json`, `BodyFields`, `JSONText`), dates by
/// `Date(rfc3339:)` and `CalendarDay`, time zones by `TimeZone(iana:)`.
@Suite struct RequestReaderTests {
    @Test func `no endpoint decodes a request by itself`() throws {
        let found = try SourceSearch().matches(of: ".*(JSONDecoder\\(|JSONSerialization).*", in: ["Sources/Services"])
        for (file, line) in found where file.contains("/Endpoints/") {
            // What a service stored, and what another one of ours answered.
            let isOurs = line.contains("row.decode") || line.contains("last.decode")
            #expect(isOurs || Self.checked.contains { file.hasSuffix($0) }, "\(file): \(line)")
        }
    }

    /// A claim of a token that is checked by `JSONText.validate` before, and a flag of the command line.
    private static let checked = ["/Endpoints/Staff/StaffParameters.swift"]

    @Test func `only the shared reader parses times and time zones`() throws {
        let folders = ["Sources/Services", "Sources/Shared"]
        let pattern = #".*(ISO8601FormatStyle\(\)\.parse|strategy: \.iso8601\)|ISO8601DateFormatter|strptime\().*"#
        let times = try SourceSearch().matches(of: pattern, in: folders)
        #expect(times.map { "\($0.file): \($0.text)" } == [])
        // Of a device or a message as they are stored: what was checked when it came.
        let stored = ["/MessageTiming.swift", "/TimeZone+IANA.swift", "/Tus.swift"]
        let zones = try SourceSearch().matches(of: #".*TimeZone\(identifier:.*"#, in: folders)
        #expect(zones.count > 0)
        for (file, line) in zones { #expect(stored.contains { file.hasSuffix($0) }, "\(file): \(line)") }
    }
}
