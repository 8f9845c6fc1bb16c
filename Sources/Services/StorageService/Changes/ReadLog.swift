import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Reads the changes since a cursor, with objects as the app's own server sees them. For our own processes only.
///
/// The request is `{"app","environment","collections":[…],"after"?,"limit"?,"waitSeconds"?}`. Without `after`, the
/// answer only has the cursor of the end of the log. `waitSeconds` delays an answer that would be empty.
///
/// The answer is
/// `{"changes":[{"seq","collection","id","change":"created"|"updated"|"deleted","at","actor","object","previous"}],
/// "cursor","now","more","expired","lost":[{"collection","transaction"}]}`. `actor` is the user who made the change.
///
/// `now`: the database's time before it read the log. Later writes come after the cursor.
///
/// `expired`: the cursor does not belong to this log; `cursor` is the end of the log. `lost`: collections whose changes
/// up to that transaction are incomplete, because the collection was dropped or the changes were too old. It is
/// repeated until the cursor is past that transaction.
struct ReadLog: Endpoint {
    static let route = Route.betweenProcesses(.post, "/internal/changes")

    let feed: ChangeFeed

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let body = try await BodyFields(
            request, ["app", "environment", "collections", "after", "limit", "waitSeconds"])
        let collections = try (body.strings("collections", upTo: ChangeFeed.maximumCollections) ?? []).map {
            try CollectionName($0).text
        }
        let query = ChangeFeed.Query(
            space: try AppSchema(body), collections: collections,
            cursor: try body.string("after").map { try ChangeCursor($0, parameter: "after") },
            limit: try body.integer("limit", in: 1...ChangeFeed.maximumChanges) ?? 100,
            wait: .seconds(try body.integer("waitSeconds", in: 0...ChangeFeed.maximumWaitInSeconds) ?? 0))
        let page = try await feed.page(query)
        let lost = page.lost.map {
            #"{"collection":\#(JSONValue.quote($0.collection)),"transaction":"\#($0.transaction)"}"#
        }
        return .json(
            """
            {"changes":[\(page.changes.joined(separator: ","))],"cursor":"\(page.cursor.text)","now":"\(page.now)","more":\(page.hasMore),\
            "expired":\(page.isExpired),"lost":[\(lost.joined(separator: ","))]}
            """)
    }
}

extension AppSchema {
    /// The app and environment in a request from another process of ours.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ body: BodyFields) throws {
        let name = try body.requiredString("environment")
        guard let environment = AppEnvironment(rawValue: name) else {
            throw ServiceError.unexpectedMember("environment", expected: "live or test", found: name)
        }
        let app = try body.requiredString("app")
        let principal = Principal(kind: .service, appID: app, appNumber: 0, environment: environment, credentialID: "")
        guard let space = try? AppSchema(principal) else {
            throw ServiceError.unexpectedMember("app", expected: "an app's id", found: app)
        }
        self = space
    }
}
