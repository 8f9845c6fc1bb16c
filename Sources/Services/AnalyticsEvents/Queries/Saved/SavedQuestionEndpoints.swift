import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListSavedQuestions: Endpoint {
    static let route = Route(
        .get, "/analytics/questions", "listSavedQuestions", "Lists the saved questions by name.",
        callers: .manager(.read, .analytics),
        answers: [
            .answer(
                200, "All saved questions.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .savedQuestion),
                        ], required: ["count", "data"])))
        ])

    let spaces: Spaces
    let questions: SavedQuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        .page(try await questions.list(in: try await context.questionSpace(spaces)))
    }
}

struct ReadSavedQuestion: Endpoint {
    static let route = Route(
        .get, "/analytics/questions/{name}", "readSavedQuestion", "Returns a saved question, not its answer.",
        callers: .manager(.read, .analytics),
        parameters: [.savedQuestion],
        answers: [
            .answer(200, "The question.", .json(.savedQuestion))
        ],
        errors: [404: "The app has no such question (`not-found`)."])

    let spaces: Spaces
    let questions: SavedQuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await context.questionSpace(spaces)
        guard let json = try await questions.read(context.component("name"), in: space) else {
            throw ServiceError.noSavedQuestion
        }
        return .json(json)
    }
}

struct SaveQuestion: Endpoint {
    static let route = Route(
        .put, "/analytics/questions/{name}", "saveQuestion", "Saves a question under a name, or replaces it.",
        callers: .manager(.update, .analytics),
        parameters: [.savedQuestion],
        details: """
            `parameters` are those of the call that answers the question, without its period and format. Answers are \
            not saved: the question is asked again each time, for the last `days` days. An app may have 100 saved \
            questions in each environment.
            """,
        body: .json(.savedQuestion),
        answers: [
            .answer(200, "The question as saved.", .json(.savedQuestion))
        ])

    let spaces: Spaces
    let questions: SavedQuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let author = try context.author(may: .update, .analytics)
        let name = context.component("name")
        guard SavedQuestion.isName(name) else {
            throw ServiceError(
                .invalidPath,
                "Expected a line of 1 to \(SavedQuestion.maximumNameLength) characters without a slash.",
                field: "name")
        }
        let question = try SavedQuestion(try await BodyFields(request, SavedQuestion.fields))
        let space = try await spaces.space(of: try context.principal)
        return .json(try await questions.save(question, as: name, in: space, by: author))
    }
}

struct DeleteSavedQuestion: Endpoint {
    static let route = Route(
        .delete, "/analytics/questions/{name}", "deleteSavedQuestion", "Deletes a saved question.",
        callers: .manager(.delete, .analytics),
        parameters: [.savedQuestion],
        answers: [
            .answer(204, "The question is deleted.")
        ],
        errors: [404: "The app has no such question (`not-found`)."])

    let spaces: Spaces
    let questions: SavedQuestionStore

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.author(may: .delete, .analytics)
        let space = try await spaces.space(of: try context.principal)
        guard try await questions.delete(context.component("name"), in: space) else {
            throw ServiceError.noSavedQuestion
        }
        return Response(status: .noContent)
    }
}

extension RouteParameter {
    fileprivate static let savedQuestion: RouteParameter = .path(
        "name", .string, "The name of the question: one line of at most 100 characters, without slashes.")
}

extension ServiceError {
    fileprivate static let noSavedQuestion = ServiceError(.notFound, "The app has no saved question with this name.")
}
