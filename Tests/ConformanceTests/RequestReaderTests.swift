import MartletTesting
import Testing

/// Requests are parsed only by the strict reader (`Request.json`, `BodyFields`, `JSONText`), dates by `Date(rfc3339:)`
/// and `CalendarDay`, and time zones by `TimeZone(iana:)`.
@Suite struct RequestReaderTests {
    @Test func `no endpoint decodes a request by itself`() throws {
        let found = try SourceSearch().matches(of: ".*(JSONDecoder\\(|JSONSerialization).*", in: ["Sources/Services"])
        for (file, line) in found where file.contains("/Endpoints/") {
            // Values stored by a service, or answered by another internal service.
            let isOurs = line.contains("row.decode") || line.contains("last.decode")
            #expect(isOurs || Self.checked.contains { file.hasSuffix($0) }, "\(file): \(line)")
        }
    }

    /// A token's claim that `JSONText.validate` has checked before, and a command-line flag.
    private static let checked = ["/Endpoints/Staff/StaffParameters.swift"]

    @Test func `only the shared reader parses times and time zones`() throws {
        let folders = ["Sources/Services", "Sources/Shared"]
        let pattern = #".*(ISO8601FormatStyle\(\)\.parse|strategy: \.iso8601\)|ISO8601DateFormatter|strptime\().*"#
        let times = try SourceSearch().matches(of: pattern, in: folders)
        #expect(times.map { "\($0.file): \($0.text)" } == [])
        // Stored devices and messages, which were checked on arrival.
        let stored = ["/MessageTiming.swift", "/TimeZone+IANA.swift", "/Tus.swift"]
        let zones = try SourceSearch().matches(of: #".*TimeZone\(identifier:.*"#, in: folders)
        #expect(zones.count > 0)
        for (file, line) in zones { #expect(stored.contains { file.hasSuffix($0) }, "\(file): \(line)") }
    }
}
