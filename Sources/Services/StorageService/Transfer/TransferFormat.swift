import MartletAPI
import MartletCore
import MartletHTTP

/// The file formats of import and export.
enum TransferFormat: String, Codable, Sendable, CaseIterable {
    /// An array of objects.
    case json
    /// One object per line (JSON Lines).
    case jsonl
    /// RFC 4180, with a header line.
    case csv

    /// - Throws: `invalid-parameter`.
    init(parameter text: Substring?) throws {
        guard let format = TransferFormat(rawValue: String(text ?? "")) else {
            throw ServiceError.unexpectedParameter("format", expected: "json, jsonl or csv", found: text ?? "")
        }
        self = format
    }

    var contentType: String {
        switch self {
        case .json: "application/json; charset=utf-8"
        case .jsonl: "application/x-ndjson; charset=utf-8"
        case .csv: "text/csv; charset=utf-8; header=present"
        }
    }
}

/// Limits on the contents of a file.
enum TransferLimits {
    /// The limit for an object's text, in JSON as well as in CSV.
    static let recordSizeInBytes = Document.maximumSizeInBytes
    static let columns = 1_000
    static let columnNameSizeInBytes = 1_024
}

/// An error in a file that prevents reading the rest.
struct FileFault: Error, Sendable, Equatable {
    /// The line, from 1.
    var line: Int
    var reason: String
}

/// One record of a file, not yet parsed.
struct RawRecord: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        /// Text that should be a JSON object.
        case json([UInt8])
        case cells([Cell])
        /// A record that was skipped, with the reason.
        case bad(String)
    }

    typealias Cell = CSVReader.Cell

    /// The line on which it starts, from 1.
    var line: Int
    var content: Content
}

/// Splits a file into records as its bytes arrive, with at most one record in memory.
protocol RecordSplitter: Sendable {
    /// - Throws: `FileFault`.
    mutating func feed(_ bytes: some Sequence<UInt8>) throws(FileFault) -> [RawRecord]

    /// Ends the file. Must be called once.
    ///
    /// - Throws: `FileFault`.
    mutating func finish() throws(FileFault) -> [RawRecord]
}
