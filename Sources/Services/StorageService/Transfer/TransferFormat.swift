import MartletAPI
import MartletCore
import MartletHTTP

/// The file formats of import and export.
enum TransferFormat: String, Codable, Sendable, CaseIterable {
    /// An array of objects.
    case json
    /// An object per line (JSON Lines).
    case jsonl
    /// RFC 4180, with a header line.
    case csv

    /// - Throws: `invalid-parameter`.
    init(parameter text: Substring?) throws {
        guard let text, let format = TransferFormat(rawValue: String(text)) else {
            throw HTTPProblem(.invalidParameter, "It must be json, jsonl or csv.", field: "format")
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

/// Bounds on what a file may hold.
enum TransferLimits {
    /// An object's text, in JSON as in CSV.
    static let recordSizeInBytes = Document.maximumSizeInBytes
    static let columns = 1_000
    static let columnNameSizeInBytes = 1_024
}

/// What is wrong with a file as a whole: reading cannot go on behind it.
struct FileFault: Error, Sendable, Equatable {
    /// From 1.
    var line: Int
    var reason: String
}

/// One record of a file as it stands there.
struct RawRecord: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        /// Text that should be a JSON object.
        case json([UInt8])
        case cells([Cell])
        /// A record that was read over.
        case bad(String)
    }

    typealias Cell = CSVReader.Cell

    /// Where it begins, from 1.
    var line: Int
    var content: Content
}

/// Cuts a file into records as its bytes come in, holding no more than one record.
protocol RecordSplitter: Sendable {
    /// - Throws: `FileFault`.
    mutating func feed(_ bytes: some Sequence<UInt8>) throws(FileFault) -> [RawRecord]

    /// Call once, at the end.
    ///
    /// - Throws: `FileFault`.
    mutating func finish() throws(FileFault) -> [RawRecord]
}
