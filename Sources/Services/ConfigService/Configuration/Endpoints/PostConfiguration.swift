import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Answers like `ReadConfiguration`. A body with `configuration` is an upload, as from the original dashboard; see
/// `UploadConfiguration`.
struct PostConfiguration: Endpoint {
    static let route = Route(
        .post, "/remote", "askForConfiguration",
        """
        Returns the configuration of an app version for a client that describes itself, or stores and publishes \
        one with the master key.
        """, callers: .client,
        parameters: [
            .generation,
            .header(
                "X-Device-Id", .string.maxLength(128),
                """
                The app's own id of the device, for conditions and experiments, in visible ASCII characters.
                """),
            .header("If-None-Match", .string, "The `ETag` of an earlier answer."),
        ],
        body: .json(
            .object(
                [
                    "appVersion": .string,
                    "theme": .string,
                    "language": .string.maxLength(200),
                    "platform": .string.maxLength(200),
                    "osVersion": .string.maxLength(200),
                    "country": .string.maxLength(200),
                    "build": .string.maxLength(200),
                    "attributes": .object.keyword("maxProperties", 100).described(
                        "Further attributes that conditions can test; at most 16 KiB."),
                    "configuration": .object.described("The configuration to store and publish; at most 1 MiB."),
                    "live": .boolean.described(
                        "Only with `configuration`. If false, only the draft is stored; by default true."),
                    "note": .string.maxLength(2_000).described(
                        "Only with `configuration`: the note of the new version."),
                ], required: ["appVersion"]
            ).closed),
        answers: [
            .answer(
                200,
                """
                The configuration. The header `Experiments` names the variations of the experiments that chose it.
                """, .json(.remoteConfiguration)),
            .answer(
                201,
                "A configuration was stored: `name`, `live`, `version` and `findings`; `version` is null for a draft.",
                .json(.object)),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [
            403: "The body has a `configuration`, but the caller has no master key (`forbidden`).",
            422: "The configuration to publish has errors: see `findings` (`document-refused`). Nothing was written.",
            404: "No configuration is live for this app version and theme (`document-not-found`).",
        ])

    let remote: RemoteConfiguration
    let upload: UploadConfiguration

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(
            request,
            Set(
                ConfigurationRequest.clientPropertyNames + [
                    "appVersion", "theme", "attributes", "configuration", "live", "note",
                ]),
            upTo: ConfigurationKind().maximumSizeInBytes + (64 << 10))
        if fields["configuration"] != nil { return try await upload.store(fields, context) }
        for name in ["live", "note"] where fields[name] != nil {
            throw ServiceError(.invalidBody, "This field is allowed only with a configuration.", field: name)
        }
        var properties: [String: String] = [:]
        for name in ConfigurationRequest.clientPropertyNames { properties[name] = try fields.string(name) }
        let clientRequest = try ConfigurationRequest(
            appVersion: try fields.requiredString("appVersion"), theme: try fields.string("theme"),
            properties: properties, attributes: fields["attributes"], at: remote.experiments.now(), request, context)
        return try await remote.response(to: clientRequest, request)
    }
}

/// Stores a configuration as the draft and publishes it in one transaction:
/// `{"appVersion","theme","configuration":{…},"live":true,"note":""}`.
///
/// With `live` false, only stores the draft, even if it has errors. Otherwise nothing is written if it has errors.
struct UploadConfiguration: Sendable {
    let documents: DocumentStore
    let publisher: Publisher
    let live: LiveDocuments

    func store(_ fields: BodyFields, _ context: ServiceContext) async throws -> Response {
        let author = try context.author(may: .update, DocumentKind.configuration.area)
        let space = try context.space
        let kind = ConfigurationKind()
        let name = try fields.requiredString("appVersion") + (try fields.string("theme").map { "~" + $0 } ?? "")
        let key = try DocumentKey(checking: name, of: .configuration)
        if let problem = kind.problem(withName: name) { throw ServiceError(.invalidName, problem, field: "appVersion") }
        let configuration = fields["configuration"] ?? .null
        try configuration.checkIsDocument()
        let draft = try configuration.draft(upTo: kind.maximumSizeInBytes)
        let isLive = try fields.flag("live") ?? true
        let note = try fields.note()
        let findings = kind.check(configuration, named: name, in: try await live.current(space)).limited
        guard !isLive || !findings.contains(where: { $0.severity == .error }) else {
            throw ServiceError(.documentRefused, "Nothing was published; see findings.", findings: findings)
        }
        let version: String
        if isLive {
            let request = Publisher.Request(key: key, space: space, note: note, author: author)
            version = try await publisher.run(request, createIfMissing: true) { document, space, transaction in
                try await DocumentStore.setDraft(draft, of: document.id, by: author, transaction)
                return try await publisher.add(draft, request, document, space, .publish, transaction).json
            }
        } else {
            _ = try await documents.edit(key, in: space, if: .none, by: author, maximumDocuments: kind.maximumDocuments)
            { _ in draft }
            version = "null"
        }
        var response = Response.json(
            #"{"name":\#(JSONValue.quote(name)),"live":\#(isLive),"version":\#(version),"findings":\#(findings.json.text)}"#
        )
        response.status = .created
        response.headers[.location] = "/config/\(key.kind.rawValue)/" + RelativeReference.encoded(name)
        return response
    }
}
