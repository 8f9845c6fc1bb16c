import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Sends and stores nothing. With `"exact":true` all devices are counted.
struct PreviewMessage: Endpoint {
    static let route = Route(
        .post, "/notifications/preview", "previewMessage",
        "Previews a message: its texts, sizes and number of devices. Sends nothing.",
        callers: .manager(.read, .notifications),
        body: .json(
            .object(
                [
                    "content": .pushContent,
                    "template": .string,
                    "variables": .object,
                    "audience": .pushAudience,
                    "timing": .pushTiming,
                    "due": .time,
                    "expires": .time,
                    "exact": .boolean,
                ])),
        answers: [
            .answer(
                200,
                """
                The texts in each language and variant with their sizes and problems, the number of devices, and how \
                many of them have a push service for which the app has no credential.
                """,
                .json(
                    .object(
                        [
                            "texts": .array(
                                of: .object(
                                    [
                                        "variant": .string,
                                        "language": .string,
                                        "title": .string,
                                        "subtitle": .string,
                                        "body": .string,
                                        "sizes": .object(
                                            [
                                                "apns": .integer,
                                                "fcm": .integer,
                                                "webpush": .integer,
                                            ]),
                                        "problem": .string,
                                    ])),
                            "audience": .object(
                                [
                                    "count": .integer,
                                    "isExact": .boolean,
                                ]),
                            "withoutCredential": .pushWithoutCredential,
                        ])))
        ],
        errors: [404: "The app has no such template or segment (`template-not-found`, `segment-not-found`)."])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let fields = try await BodyFields(
            request, MessageRequest.names.union(["exact"]), upTo: MessageRequest.maximumBodySize)
        let preview = try await MessageRequest(fields, messages.templates, in: space)
        var members: [JSONValue.Member] = [
            .init("texts", .array(preview.content.combinations.map { text(preview, $0.variant, $0.language) }))
        ]
        if let audience = preview.audience {
            var audiences = [audience]
            if let segment = audience.segment {
                audiences.append(try await messages.segments.audience(segment, in: space))
            }
            let count = try await messages.counter.count(
                audiences, content: preview.content, isExact: preview.isExact, in: space)
            members.append(.init("audience", count.json))
            members += try await messages.reach.unreached(
                audience, content: preview.content, isExact: preview.isExact, in: space
            ).members
        }
        return .json(JSONValue.object(members).text)
    }

    private func text(_ preview: MessageRequest, _ variant: Int, _ language: LanguageTag?) -> JSONValue {
        let content = preview.content
        var members: [JSONValue.Member] = []
        if !content.variants.isEmpty { members.append(.init("variant", .string(content.variants[variant].name))) }
        if let language { members.append(.init("language", .string(language.text))) }
        members += content.texts(variant: variant, in: language).members
        members.append(.init("sizes", content.sizes(variant: variant, language: language).json))
        let services = preview.audience?.services ?? content.services
        if let fault = content.fault(variant, language, services) {
            members.append(.init("problem", .string(fault.sentence)))
        }
        return .object(members)
    }
}

extension PushSizes {
    fileprivate var json: JSONValue {
        .object(
            [("apns", apns), ("fcm", fcm), ("webpush", webPush)].compactMap { name, size in
                size.map { .init(name, .number("\($0)")) }
            })
    }
}
