/// Mail providers whose addresses are public or short-lived.
enum DisposableAddresses {
    /// Whether the address belongs to one of these domains or to a subdomain.
    static func contains(_ address: String) -> Bool {
        var domain = address[(address.lastIndex(of: "@").map(address.index(after:)) ?? address.startIndex)...]
        while true {
            if domains.contains(domain) { return true }
            guard let dot = domain.firstIndex(of: ".") else { return false }
            domain = domain[domain.index(after: dot)...]
        }
    }

    private static let domains: Set<Substring> = Set(
        """
        0-mail.com 0815.ru 0clickemail.com 0wnd.net 10mail.org 10minutemail.co.uk 10minutemail.com 10minutemail.de 10minutemail.net \
        10minutemail.org 10minutesmail.com 123-m.com 1chuan.com 1secmail.com 1secmail.net 1secmail.org 1zhuan.com 20email.eu 20mail.it \
        20minutemail.com 2prong.com 30minutemail.com 33mail.com 3d-painting.com 4warding.com 5mail.cf 60minutemail.com 675hosting.com 6url.com \
        75hosting.com 9ox.net a-bc.net afrobacon.com agedmail.com ajaxapp.net amilegit.com anonbox.net anonymbox.com antichef.com antispam.de \
        armyspy.com baxomale.ht.cx beefmilk.com binkmail.com bio-muesli.net bobmail.info bofthew.com brefmail.com broadbandninja.com bsnow.net \
        bugmenot.com bumpymail.com burnermail.io byom.de casualdx.com centermail.com chogmail.com choicemail1.com cool.fr.nf correo.blogos.net \
        cosmorph.com courriel.fr.nf courrieltemporaire.com cubiclink.com curryworld.de cust.in cuvox.de dacoolest.com dandikmail.com dayrep.com \
        deadaddress.com deadspam.com despam.it devnullmail.com dfgh.net digitalsanctuary.com discardmail.com discardmail.de disposableaddress.com \
        disposableemailaddresses.com disposeamail.com disposemail.com dispostable.com dm.w3internet.co.uk dodgeit.com dodgit.com donemail.ru \
        dontreg.com dontsendmespam.de dropmail.me dump-email.info dumpandjunk.com dumpmail.de dumpyemail.com e4ward.com easytrashmail.com \
        einrot.com email60.com emaildienst.de emailfake.com emailias.com emailigo.de emailinfive.com emaillime.com emailmiser.com emailondeck.com \
        emailsensei.com emailtemporanea.com emailtemporanea.net emailtemporario.com.br emailto.de emailwarden.com emailx.at.hm emailxfer.com \
        emltmp.com enterto.com ephemail.net etranquil.com etranquil.net etranquil.org explodemail.com fakeinbox.com fakeinformation.com \
        fakemail.fr fakemail.net fakemailgenerator.com fastacura.com fastmazda.com filzmail.com fizmail.com fleckens.hu frapmail.com freundin.ru \
        fudgerub.com garliclife.com get1mail.com get2mail.fr getairmail.com getmails.eu getnada.com getonemail.com ghosttexter.de \
        girlsundertheinfluence.com gishpuppy.com gowikibooks.com greensloth.com grr.la gsrv.co.uk guerillamail.biz guerillamail.com \
        guerillamail.de guerillamail.net guerillamail.org guerrillamail.biz guerrillamail.com guerrillamail.de guerrillamail.info \
        guerrillamail.net guerrillamail.org guerrillamailblock.com gustr.com h.mintemail.com h8s.org haltospam.com harakirimail.com hatespam.org \
        hidemail.de hidzz.com hmamail.com hochsitze.com hotpop.com hulapla.de ieatspam.eu ieatspam.info ieh-mail.de imails.info inbax.tk \
        inboxalias.com inboxbear.com inboxclean.com inboxclean.org inboxkitten.com incognitomail.com incognitomail.net incognitomail.org \
        insorg-mail.info ipoo.org irish2me.com iwi.net jetable.com jetable.fr.nf jetable.net jetable.org jnxjn.com jourrapide.com jsrsolutions.com \
        kasmail.com kaspop.com killmail.com killmail.net klassmaster.com klzlk.com koszmail.pl kulturbetrieb.info kurzepost.de lawlita.com \
        letthemeatspam.com lhsdv.com lifebyfood.com link2mail.net litedrop.com lol.ovpn.to lookugly.com lopl.co.cc lortemail.dk lr78.com \
        m4ilweb.info maboard.com mail-temp.com mail-temporaire.fr mail.mezimages.net mail.tm mail1a.de mail2rss.org mail333.com mail4trash.com \
        mailbidon.com mailblocks.com mailbucket.org mailcat.biz mailcatch.com mailde.de mailde.info maildrop.cc maildx.com maileater.com \
        mailexpire.com mailfa.tk mailforspam.com mailfreeonline.com mailguard.me mailhazard.com mailin8r.com mailinater.com mailinator.com \
        mailinator.net mailinator.org mailinator2.com mailincubator.com mailismagic.com mailmate.com mailme.lv mailmetrash.com mailmoat.com \
        mailna.biz mailna.co mailnator.com mailnesia.com mailnull.com mailpick.biz mailpoof.com mailrock.biz mailsac.com mailscrap.com \
        mailshell.com mailsiphon.com mailslite.com mailtemp.info mailtothis.com mailtrash.net mailtv.net mailtv.tv mailzilla.com mailzilla.org \
        mbx.cc mega.zik.dj meinspamschutz.de meltmail.com messagebeamer.de mierdamail.com mintemail.com minuteinbox.com minutemail.com \
        mjukglass.nu moakt.cc moakt.co moakt.com moakt.ws mobi.web.id moburl.com mohmal.com moncourrier.fr.nf monemail.fr.nf monmail.fr.nf \
        msa.minsmail.com mt2009.com mt2014.com muellmail.com mvrht.com my10minutemail.com mycard.net.ua mycleaninbox.net mypartyclip.de \
        myphantomemail.com myspamless.com mytemp.email mytempemail.com mytempmail.com mytrashmail.com nada.email neomailbox.com nepwk.com \
        nervmich.net nervtmich.net netmails.com netmails.net netzidiot.de neverbox.com nice-4u.com nincsmail.hu nnh.com no-spam.ws nobulk.com \
        noclickemail.com nogmailspam.info nomail.xl.cx nomail2me.com nomorespamemails.com nospam.ze.tc nospam4.us nospamfor.us nospammail.net \
        nospamthanks.info notmailinator.com nowhere.org nowmymail.com nurfuerspam.de objectmail.com obobbo.com odnorazovoe.ru oneoffemail.com \
        onewaymail.com oopi.org ordinaryamerican.net otherinbox.com ourklips.com outlawspam.com ovpn.to owlpic.com pancakemail.com \
        pimpedupmyspace.com pjjkp.com politikerclub.de poofy.org pookmail.com privy-mail.de proxymail.eu prtnx.com punkass.com \
        putthisinyourspamdatabase.com quickinbox.com rcpt.at recode.me recursor.net regbypass.com rejectmail.com rhyta.com rklips.com rmqkr.net \
        rppkn.com rtrtr.com s0ny.net safersignup.de safetymail.info safetypost.de sandelf.de saynotospams.com schafmail.de selfdestructingmail.com \
        sendspamhere.com sharklasers.com shieldedmail.com shiftmail.com shitmail.me shortmail.net skeefmail.com slaskpost.se slopsbox.com \
        smashmail.de smellfear.com snakemail.com sneakemail.com sofimail.com sofort-mail.de sogetthis.com soodonims.com spam.la spam.su spam4.me \
        spamavert.com spambob.com spambob.net spambob.org spambog.com spambog.de spambog.ru spambox.info spambox.us spamcannon.com spamcero.com \
        spamcon.org spamcorptastic.com spamcowboy.com spamday.com spamex.com spamfree.eu spamfree24.com spamfree24.de spamfree24.org spamgoes.in \
        spamgourmet.com spamgourmet.net spamgourmet.org spamherelots.com spamhereplease.com spamhole.com spamify.com spaminator.de spamkill.info \
        spaml.com spaml.de spammotel.com spamobox.com spamoff.de spamslicer.com spamspot.com spamstack.net spamthis.co.uk spamtrail.com \
        speed.1s.fr supergreatmail.com superrito.com suremail.info tafmail.com teewars.org teleworm.com teleworm.us temp-mail.com temp-mail.de \
        temp-mail.io temp-mail.org temp-mail.ru tempail.com tempalias.com tempe-mail.com tempemail.biz tempemail.co.za tempemail.com tempemail.net \
        tempinbox.co.uk tempinbox.com tempmail.de tempmail.eu tempmail.it tempmail.net tempmail.plus tempmail2.com tempmaildemo.com tempmailer.com \
        tempmailer.de tempmailo.com tempomail.fr temporarily.de temporarioemail.com.br temporaryemail.net temporaryforwarding.com \
        temporaryinbox.com temporarymailaddress.com tempr.email tempthe.net thankyou2010.com thisisnotmyrealemail.com thismail.net \
        throwawayemailaddress.com throwawaymail.com tilien.com tmail.ws tmailinator.com tmpmail.net tmpmail.org toiea.com tradermail.info \
        trash-amil.com trash-mail.at trash-mail.com trash-mail.de trash2009.com trashdevil.com trashdevil.de trashemail.de trashmail.at \
        trashmail.com trashmail.de trashmail.io trashmail.me trashmail.net trashmail.org trashmail.ws trashmailer.com trashymail.com \
        trashymail.net trbvm.com trialmail.de trillianpro.com twinmail.de tyldd.com uggsrock.com upliftnow.com uplipht.com venompen.com \
        veryrealemail.com vidchart.com viditag.com viewcastmedia.com vomoto.com vubby.com walala.org wasteland.rfc822.org webemail.me \
        weg-werf-email.de wegwerf-email.de wegwerf-emails.de wegwerfadresse.de wegwerfemail.com wegwerfemail.de wegwerfmail.de wegwerfmail.info \
        wegwerfmail.net wegwerfmail.org wetrainbayarea.com wh4f.org whatpaas.com whopy.com whyspam.me willselfdestruct.com winemaven.info \
        wronghead.com wuzup.net wuzupmail.net xagloo.com xemaps.com xents.com xmaily.com xoxy.net yapped.net yep.it yogamaven.com yopmail.com \
        yopmail.fr yopmail.net yuurok.com zehnminutenmail.de zippymail.info zoemail.com zoemail.net zoemail.org zomg.info
        """.split(whereSeparator: \.isWhitespace))
}
