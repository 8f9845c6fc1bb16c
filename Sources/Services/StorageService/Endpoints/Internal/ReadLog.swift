import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /internal/changes` with `{"app","environment","collections":[…],"after"?,"limit"?,"waitSeconds"?}`: what was
/// written since the cursor.
///
/// Answers
/// `{"changes":[{"seq","collection","id","change":"created"|"updated"|"deleted","at","actor","object","previous"}],"cursor","now","more",
/// "expired","lost":[{"collection","transaction"}]}`: objects as the app's own server sees them, `actor` the user who
/// wrote. Without `after`, the end of the log. `waitSeconds` holds the answer back until there is something. `expired`:
/// the cursor is no place in this log, which goes on at its end. `lost`: of these collections, dropped or too old, not
/// everything up to that transaction is there any more; of the others nothing is missing. It is told again until the
/// cursor is past it. For our own processes only.
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
            space: try AppSpace(body), collections: collections,
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

extension AppSpace {
    /// The app and environment that a body of a process of ours names.
    ///
    /// - Throws: `invalid-body` naming the field.
    init(_ body: BodyFields) throws {
        guard let environment = AppEnvironment(rawValue: try body.requiredString("environment")) else {
            throw HTTPProblem(.invalidBody, "It is live or test.", field: "environment")
        }
        let app = try body.requiredString("app")
        let principal = Principal(kind: .service, appID: app, appNumber: 0, environment: environment, credentialID: "")
        guard let space = try? AppSpace(principal) else {
            throw HTTPProblem(.invalidBody, "This is no app's id.", field: "app")
        }
        self = space
    }
}
