import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `POST /remote`: asks for a configuration with what a client knows of itself, or, as the thesis' dashboard did,
/// stores one.
///
/// Asking takes `appVersion`, and perhaps `theme`, `language`, `platform`, `osVersion`, `country`, `build` and
/// `attributes`, an object for conditions; it answers as `ReadConfiguration`, 304 for `If-None-Match` included. With a
/// `configuration` it is `UploadConfiguration`.
struct PostConfiguration: Endpoint {
    static let route = Route(
        .post, "/remote", "askForConfiguration",
        """
        The configuration of an app version, by what the client knows of itself. With a configuration: \
        stores and publishes it; master key.
        """, callers: .client,
        parameters: [
            .header(
                "X-Device-Id", .string.maxLength(128),
                """
                What the app calls its device: for conditions and experiments. 1 to 128 visible ASCII characters.
                """),
            .header("If-None-Match", .string, "The tag of the answer that is known."),
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
                    "attributes": .object.keyword("maxProperties", 100).described("For conditions; 16 KiB at most."),
                    "configuration": .object.described("To be stored and published; 1 MiB at most."),
                    "live": .boolean.described("With a configuration; false: only the draft."),
                    "note": .string.maxLength(2_000).described("With a configuration."),
                ], required: ["appVersion"]
            ).closed),
        answers: [
            .answer(
                200,
                """
                The configuration. The header Experiments names variations of experiments that decided it.
                """, .json(.remoteConfiguration)),
            .answer(201, "The configuration is stored: {name, live, version, findings}.", .json(.object)),
            .answer(304, "It is what the tag names."),
        ],
        errors: [
            403: "A configuration came without the master key (`forbidden`).",
            422: "The configuration has errors: see `findings` (`document-refused`). Nothing was written.",
            404: "There is none for this app version and theme (`document-not-found`).",
        ])

    let remote: RemoteConfiguration
    let upload: UploadConfiguration

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let fields = try await BodyFields(
            request,
            Set(
                ConfigurationRequest.descriptions + [
                    "appVersion", "theme", "attributes", "configuration", "live", "note",
                ]),
            upTo: ConfigurationKind().maximumSizeInBytes + (64 << 10))
        if fields["configuration"] != nil { return try await upload.store(fields, context) }
        for name in ["live", "note"] where fields[name] != nil {
            throw HTTPProblem(.invalidBody, "This goes with a configuration.", field: name)
        }
        var described: [String: String] = [:]
        for name in ConfigurationRequest.descriptions { described[name] = try fields.string(name) }
        let asked = try ConfigurationRequest(
            appVersion: try fields.requiredString("appVersion"), theme: try fields.string("theme"),
            described: described,
            attributes: fields["attributes"], request, context)
        return try await remote.response(to: asked, request)
    }
}

/// Stores a configuration and publishes it in one call:
/// `{"appVersion","theme","configuration":{…},"live":true,"note":""}`; master key.
///
/// `live` false only keeps it as the draft. 201 with `{"name","live","version":…}`; nothing is written when it has
/// errors and is to be live.
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
        if let problem = kind.problem(withName: name) { throw HTTPProblem(.invalidName, problem, field: "appVersion") }
        let configuration = fields["configuration"] ?? .null
        try configuration.checkIsDocument()
        let draft = try configuration.draft(upTo: kind.maximumSizeInBytes)
        let isLive = try fields.flag("live") ?? true
        let note = try fields.note()
        let findings = kind.check(configuration, named: name, in: try await live.current(space)).limited
        guard !isLive || !findings.contains(where: { $0.severity == .error }) else {
            throw HTTPProblem(.documentRefused, "Nothing was published: see findings.", findings: findings)
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
