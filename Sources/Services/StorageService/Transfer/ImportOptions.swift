import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// The options of an import, which are the parameters of its job.
struct ImportOptions: Codable, Sendable {
    /// The treatment of records whose id already exists in the collection.
    enum Existing: String, Codable, Sendable, CaseIterable {
        /// The record is an error.
        case refuse
        /// The record replaces the stored object.
        case replace
        /// The record is ignored.
        case skip
    }

    /// The uploaded file in the spool.
    var file: UUID
    var sizeInBytes: Int
    var space: SpaceName
    var collection: String
    var format: TransferFormat
    /// Whether to only validate the file and report the result.
    var dryRun: Bool
    /// Whether to store the valid records even if others are invalid.
    var skipBad: Bool
    var existing: Existing
    /// CSV: `,`, `;` or a tab; nil to detect it.
    var delimiter: String?
    /// CSV: column → type.
    var types: [String: ColumnType]
    /// CSV: whether an empty cell is null instead of no value.
    var emptyIsNull: Bool
    /// The field that contains the id; nil for `_id`.
    var idField: String?

    init(collection: CollectionName, space: AppSchema, format: TransferFormat) {
        file = UUID()
        sizeInBytes = 0
        self.space = SpaceName(space)
        self.collection = collection.text
        self.format = format
        dryRun = false
        skipBad = false
        existing = .refuse
        types = [:]
        emptyIsNull = false
    }

    /// - Throws: `invalid-parameter`.
    init(_ request: Request, collection: CollectionName, space: AppSchema) throws {
        let parameters = request.uri.queryParameters
        self.init(collection: collection, space: space, format: try TransferFormat(parameter: parameters["format"]))
        dryRun = try ListQuery.flag("dryRun", in: request)
        skipBad = try ListQuery.flag("skipBad", in: request)
        emptyIsNull = try ListQuery.flag("emptyIsNull", in: request)
        existing = try request.choice("existing") ?? .refuse
        delimiter = try Self.delimiter(parameters["delimiter"])
        types = try Self.types(parameters["types"])
        idField = parameters["idField"].map(String.init)
        if let idField, idField.isEmpty || idField.utf8.count > 128 || idField.holds(".") {
            throw ServiceError.unexpectedParameter(
                "idField", expected: "the name of a top-level field", found: idField[...])
        }
        let csvOnly: [(name: String, isGiven: Bool)] = [
            ("delimiter", delimiter != nil), ("types", !types.isEmpty), ("emptyIsNull", emptyIsNull),
        ]
        if format != .csv, let wrong = csvOnly.first(where: \.isGiven) {
            throw ServiceError(.invalidParameter, "This parameter is only allowed with format=csv.", field: wrong.name)
        }
    }

    private static func delimiter(_ text: Substring?) throws -> String? {
        switch text {
        case nil: return nil
        case ",", ";", "\t": return text.map(String.init)
        case "tab": return "\t"
        case let text?:
            throw ServiceError.unexpectedParameter(
                "delimiter", expected: "a comma, a semicolon or a tab", found: text)
        }
    }

    /// Parses `age:number,zip:string`.
    private static func types(_ text: Substring?) throws -> [String: ColumnType] {
        var types: [String: ColumnType] = [:]
        for entry in (text ?? "").split(separator: ",") {
            guard let colon = entry.lastIndex(of: ":"),
                let type = ColumnType(rawValue: String(entry[entry.index(after: colon)...])),
                types.count < TransferLimits.columns
            else {
                let names = ColumnType.allCases.map(\.rawValue).joined(separator: ", ")
                throw ServiceError.unexpectedParameter(
                    "types", expected: "column:type, with one of the types \(names)", found: entry)
            }
            types[String(entry[..<colon])] = type
        }
        return types
    }

    var splitter: any RecordSplitter {
        switch format {
        case .json: JSONArraySplitter()
        case .jsonl: JSONLinesSplitter()
        case .csv: CSVSplitter(delimiter: delimiter?.utf8.first)
        }
    }
}

/// A space in the parameters of a job.
struct SpaceName: Codable, Sendable, Hashable {
    var appID: String
    var environment: AppEnvironment

    init(appID: String, environment: AppEnvironment) {
        self.appID = appID
        self.environment = environment
    }

    init(_ space: AppSchema) {
        appID = space.appID
        environment = space.environment
    }

    /// - Throws: `unauthorized` if the app's id is not valid.
    var space: AppSchema {
        get throws {
            try AppSchema(
                Principal(kind: .master, appID: appID, appNumber: 0, environment: environment, credentialID: "job"))
        }
    }
}
