import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Sends `{"event":"function","hook","params","user","master"}`, which the hook answers with `{"result":…}` or
/// `{"error":"…"}`. Open to the master key and to the hook's `callers`.
///
/// Never retried: a call that failed may have been carried out.
struct CallFunction: Endpoint {
    static let route = Route(
        .post, "/functions/{name}", "callFunction", "Calls a function hook and returns its result.", callers: .client,
        parameters: [
            .hookName
        ],
        body: .json(
            .any, text: "Any JSON value of at most 1 MiB. An empty body is the same as null.", isRequired: false),
        answers: [
            .answer(200, "`result`: any JSON value.")
        ],
        errors: [
            400: "The hook refused the call (`hook-refused`), or the body is not JSON (`invalid-json`).",
            403: "The function is not open to the caller (`forbidden`).",
            404: "The app has no such hook (`hook-not-found`).",
            502: "The hook could not be reached, or did not give a valid answer in time (`hook-failed`).",
        ])

    static let maximumSizeInBytes = 1 << 20

    let hooks: HookStore
    let client: HookClient
    let ledger: HookLedger
    let rights: RightsStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (name, space) = (try context.hookName, try context.space)
        let identity = try await rights.rights(of: try context.principal, in: space).identity
        let hook = try await hooks.function(name, openTo: identity, in: space)
        let body = try await request.wholeBody(upTo: Self.maximumSizeInBytes)
        let parameters =
            body.readableBytes == 0
            ? JSONValue.null : try checked { () throws(JSONError) in try JSONValue(parsing: body.readableBytesView) }
        let message = HookMessage(hook, identity).body(with: [("params", parameters.text)])
        let verdict = try await HookVerdict(hook, in: space, ledger) { try await client.call(message, hook, in: space) }
        return .json(ByteBuffer(string: "{\"result\":\((verdict.answer["result"] ?? .null).text)}"))
    }
}

extension ServiceContext {
    /// - Throws: `invalid-name`.
    var hookName: HookName {
        get throws { try HookName(component("name")) }
    }
}
