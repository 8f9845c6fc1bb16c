import MartletHTTP

extension AuthService {
    func addPasskeyRoutes(to routes: inout RouteTable) {
        routes.section = .users
        routes.on(ReadPasskeySettings.route, ReadPasskeySettings(passkeys: passkeys))
        routes.on(SetPasskeySettings.route, SetPasskeySettings(passkeys: passkeys))
        routes.on(RemovePasskeySettings.route, RemovePasskeySettings(passkeys: passkeys))

        routes.on(OfferPasskeySignIn.route, OfferPasskeySignIn(passkeys: passkeys, attempts: attempts))
        let logIn = LogInByPasskey(
            users: users, passkeys: passkeys, attempts: attempts, completion: completion, settings: mailing.settings,
            logger: logger)
        routes.on(LogInByPasskey.route, logIn)
        routes.on(OfferPasskeySignUp.route, OfferPasskeySignUp(passkeys: passkeys, attempts: attempts))
        routes.on(
            SignUpByPasskey.route,
            SignUpByPasskey(passkeys: passkeys, attempts: attempts, signIns: signIns, mailing: mailing))

        routes.on(
            OfferPasskey.route,
            OfferPasskey(check: passwordCheck, secondFactors: secondFactors, passkeys: passkeys))
        routes.on(ListPasskeys.route, ListPasskeys(passkeys: passkeys))
        routes.on(AddPasskey.route, AddPasskey(passkeys: passkeys))
        routes.on(RenamePasskey.route, RenamePasskey(passkeys: passkeys))
        routes.on(RemovePasskey.route, RemovePasskey(check: passwordCheck, passkeys: passkeys, outbox: mailing.outbox))
        routes.on(RemovePasskeys.route, RemovePasskeys(users: users, passkeys: passkeys))
    }
}
