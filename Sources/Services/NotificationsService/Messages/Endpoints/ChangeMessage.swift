import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Pauses, resumes or cancels a message. Does not affect deliveries already sent.
struct ChangeMessage: Endpoint {
    static let route = Route(
        .delete, "/notifications/messages/{id}", "deleteMessage", "Cancels a message. Its record remains.",
        callers: .manager(.delete, .notifications),
        parameters: [
            .path("id", .uuid, "The id of the message.")
        ],
        answers: [
            .answer(200, "The message with its new state.", .json(.pushMessage))
        ],
        errors: [
            404: "The app has no such message (`message-not-found`).",
            409: "The message is already finished (`conflict`).",
        ])
    static let cancelMessage = Route(
        .post, "/notifications/messages/{id}/cancel", "cancelMessage",
        "Cancels a message. Queued deliveries are not sent.", callers: .manager(.delete, .notifications),
        parameters: [
            .path("id", .uuid, "The id of the message.")
        ],
        answers: [
            .answer(200, "The message with its new state.", .json(.pushMessage))
        ],
        errors: [
            404: "The app has no such message (`message-not-found`).",
            409: "The message is already finished (`conflict`).",
        ])
    static let pauseMessage = Route(
        .post, "/notifications/messages/{id}/pause", "pauseMessage", "Pauses a message.",
        callers: .manager(.update, .notifications),
        parameters: [
            .path("id", .uuid, "The id of the message.")
        ],
        answers: [
            .answer(200, "The message with its new state.", .json(.pushMessage))
        ],
        errors: [
            404: "The app has no such message (`message-not-found`).",
            409: "The message is already finished (`conflict`).",
        ])
    static let resumeMessage = pauseMessage.at(
        "/notifications/messages/{id}/resume", "resumeMessage",
        "Resumes a paused message.")

    enum Action: Sendable {
        case pause, resume, cancel
    }

    let action: Action
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: action == .cancel ? .delete : .update, messages.spaces)
        let id = try context.messageID
        let message =
            switch action {
            case .pause: try await messages.store.pause(id, in: space)
            case .resume: try await messages.store.resume(id, in: space)
            case .cancel: try await messages.store.cancel(id, in: space)
            }
        return .json(JSONValue.object(message.json).text)
    }
}
